// SPDX-License-Identifier: Apache-2.0
// The certificate of one of the control plane's listeners: issued at once, renewed at half its lifetime and whenever
// the signing authority changes.

import { generateKeyPairSync } from "node:crypto"
import { BACKDATE_MS, renewAt } from "@merlon/identity"
import { parseIp } from "@merlon/policy/request"
import { Emitter, type Log, messageOf } from "@merlon/xds/runtime"
import type { Clock } from "../observe/clock.js"
import type { KeySource } from "./key-source.js"

export interface ServingMaterial {
  /** PEM, leaf first, without the root. */
  readonly certificateChain: string
  /** PKCS#8, PEM. */
  readonly privateKey: string
  readonly notAfter: number
}

export interface ServingOptions {
  /** Host names and addresses under which callers reach the listener. */
  readonly names: readonly string[]
  readonly identity?: string
  readonly ttlMs: number
  readonly keys: KeySource
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
}

const RETRY_MS = 10_000
/** Timers do not notice when the wall clock is set, so the time is checked this often. */
export const LOOK_MS = 60_000

export class ServingCertificate {
  readonly #options: ServingOptions
  readonly #changes = new Emitter()
  readonly #unfollow: () => void
  #signer: string
  #material: ServingMaterial
  #cancel: () => void = () => undefined
  /** In wall-clock time: when it becomes valid, and when it has to be replaced. */
  #from = 0
  #due = 0
  #closed = false

  constructor(options: ServingOptions) {
    this.#options = options
    this.#signer = signerOf(options.keys)
    this.#material = this.#make()
    this.#schedule()
    this.#unfollow = options.keys.onChange(() => {
      if (signerOf(options.keys) !== this.#signer) this.#renew()
    })
  }

  get current(): ServingMaterial {
    return this.#material
  }

  /** Call the listener's `setSecureContext` here. */
  onChange(listener: () => void): () => void {
    return this.#changes.on(listener)
  }

  close(): void {
    this.#closed = true
    this.#cancel()
    this.#unfollow()
    this.#changes.clear()
  }

  #renew(): void {
    if (this.#closed) return
    try {
      this.#material = this.#make()
      this.#signer = signerOf(this.#options.keys)
      this.#schedule()
    } catch (error) {
      // The current certificate stays in use as long as it is valid.
      this.#options.log.error({ error: messageOf(error) }, "cannot renew the control plane's serving certificate")
      this.#later(RETRY_MS, () => this.#renew())
      return
    }
    this.#changes.emit()
  }

  #make(): ServingMaterial {
    const { names, identity, ttlMs, keys, clock } = this.#options
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const { certificateChain, notAfter } = keys.current.server.signServer({
      publicKey: publicKey.export({ type: "spki", format: "der" }),
      dnsNames: names.filter(name => parseIp(name) === undefined),
      ipAddresses: names.filter(name => parseIp(name) !== undefined),
      ...(identity === undefined ? {} : { identity }),
      ttlMs,
      now: clock.now(),
    })
    return { certificateChain, privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), notAfter }
  }

  #schedule(): void {
    const { clock, random } = this.#options
    this.#from = clock.now() - BACKDATE_MS
    this.#due = renewAt({ notBefore: this.#from, notAfter: this.#material.notAfter }, random)
    this.#lookLater()
  }

  #lookLater(): void {
    const { clock } = this.#options
    const left = Math.max(0, this.#due - clock.now())
    this.#later(Math.min(left, LOOK_MS), () => {
      const now = clock.now()
      // Also renews if the clock was ahead when the certificate was issued and was corrected: it would be invalid until
      // then.
      if (now >= this.#due || now < this.#from) this.#renew()
      else this.#lookLater()
    })
  }

  #later(milliseconds: number, act: () => void): void {
    this.#cancel()
    this.#cancel = this.#options.clock.after(milliseconds, act)
  }
}

/** The chain identifies the signer, including an intermediate that was replaced under the same root. */
function signerOf({ current: { server } }: KeySource): string {
  return server.keys.certificateChain
}
