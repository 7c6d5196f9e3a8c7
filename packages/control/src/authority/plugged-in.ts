// SPDX-License-Identifier: Apache-2.0
// Signing keys that an operator supplies, in a Secret or a folder, watched while the mesh runs. Unusable keys change
// nothing: the last good keys stay in use.

import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { CertificateAuthority } from "@merlon/identity"
import { Emitter, type Log, messageOf } from "@merlon/xds/runtime"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { Clock } from "../observe/clock.js"
import { AuthorityError, type KeySource, type SigningKeys } from "./key-source.js"
import { PLUGGED_IN_FILES, readPluggedIn, replacementError } from "./plugged-in-files.js"
import { readSecretData } from "./secret-data.js"

export interface PluggedInOptions {
  readonly clock: Clock
  readonly log: Log
  /** Called when new files are not allowed to replace the authority in use. */
  readonly onRejected: () => void
}

/** A mounted Secret is replaced by a rename, which watches of single files miss, so the folder is polled. */
const FOLDER_POLL_MS = 10_000

export class PluggedIn implements KeySource {
  readonly #options: PluggedInOptions
  readonly #where: string
  readonly #changes = new Emitter()
  #authority: CertificateAuthority
  #seen: string
  #stop: () => void = () => undefined
  #closed = false

  /** Throws an `AuthorityError` if the files cannot be used. */
  static fromSecret(
    secret: KubernetesObject,
    secrets: Reflected<KubernetesObject>,
    options: PluggedInOptions,
  ): PluggedIn {
    const { namespace = "", name } = secret.metadata
    const source = new PluggedIn(`the Secret \`${namespace}/${name}\``, readSecretData(secret), options)
    source.#stop = secrets.onChange(({ key, object }) => {
      if (key !== `${namespace}/${name}`) return
      if (object === undefined) options.log.warn({}, `${source.#where} was deleted; the last certificates stay in use`)
      else source.#offer(readSecretData(object))
    })
    return source
  }

  static async fromFolder(folder: string, options: PluggedInOptions): Promise<PluggedIn> {
    const source = new PluggedIn(`the folder \`${folder}\``, await readFolder(folder), options)
    source.#poll(folder)
    return source
  }

  private constructor(where: string, files: ReadonlyMap<string, string>, options: PluggedInOptions) {
    const read = readPluggedIn(files, options.clock.now())
    // Fails closed: continuing with a root of our own would split the mesh from the authority that the operator
    // supplied.
    if (!read.ok)
      throw new AuthorityError("root-unusable", `${where} cannot be used as the mesh's authority: ${read.message}`)
    this.#where = where
    this.#options = options
    this.#authority = read.authority
    this.#seen = contentOf(files)
  }

  get current(): SigningKeys {
    const authority = this.#authority
    return { signer: authority, server: authority, bundle: authority.bundle, phase: "steady" }
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener)
  }

  /** Does nothing, because only the operator rotates these files. */
  async allowTtl(): Promise<void> {}

  close(): void {
    this.#closed = true
    this.#stop()
    this.#changes.clear()
  }

  #poll(folder: string): void {
    this.#stop = this.#options.clock.after(FOLDER_POLL_MS, () => {
      readFolder(folder)
        .then(files => this.#offer(files))
        .catch((error: unknown) => this.#reject(messageOf(error)))
        .finally(() => {
          if (!this.#closed) this.#poll(folder)
        })
    })
  }

  #offer(files: ReadonlyMap<string, string>): void {
    const content = contentOf(files)
    // Unchanged files are not reported again on every poll.
    if (this.#closed || content === this.#seen) return
    this.#seen = content
    const read = readPluggedIn(files, this.#options.clock.now())
    const error = read.ok ? replacementError(this.#authority, read.authority) : read.message
    if (!read.ok || error !== undefined) {
      this.#reject(error ?? "")
      return
    }
    this.#authority = read.authority
    this.#options.log.info(
      { notAfter: new Date(read.authority.signerNotAfter) },
      `${this.#where} changed; its new certificate signs now`,
    )
    this.#changes.emit()
  }

  #reject(reason: string): void {
    this.#options.onRejected()
    this.#options.log.error({ reason }, `${this.#where} changed, and the change was rejected: ${reason}`)
  }
}

async function readFolder(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const name of PLUGGED_IN_FILES) {
    try {
      files.set(name, await readFile(join(folder, name), "utf8"))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error // node:fs throws nothing else
    }
  }
  return files
}

function contentOf(files: ReadonlyMap<string, string>): string {
  return JSON.stringify(PLUGGED_IN_FILES.map(name => files.get(name) ?? null))
}
