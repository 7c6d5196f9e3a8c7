// SPDX-License-Identifier: Apache-2.0
// The current revocations, from a ConfigMap in the root namespace. Invalid lines are reported and do not affect valid
// ones. Without the ConfigMap nothing is revoked.

import { parseRevocations, type RevocationError, type RevocationLists } from "@merlon/identity"
import type { Log } from "@merlon/xds/runtime"
import { Emitter } from "@merlon/xds/runtime"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { AuthorityNames } from "./authority-names.js"
import { revocationData } from "./revocation-data.js"

const NONE: RevocationLists = { identities: [], serials: [], errors: [] }
/** Logged errors per change; thousands of them say no more than the first ones. */
const MAX_LOGGED = 10

export class RevocationList {
  readonly #log: Log
  readonly #changes = new Emitter()
  readonly #unfollow: () => void
  #identities: ReadonlySet<string> = new Set()
  #serials: ReadonlySet<string> = new Set()
  #lists = NONE

  constructor(configMaps: Reflected<KubernetesObject>, { namespace, revocationsConfigMap }: AuthorityNames, log: Log) {
    this.#log = log
    const own = `${namespace}/${revocationsConfigMap}`
    this.#unfollow = configMaps.onChange(({ key, object }) => {
      if (key === own) this.#take(object)
    })
    this.#take(configMaps.items.get(own))
  }

  get lists(): RevocationLists {
    return this.#lists
  }

  get errors(): readonly RevocationError[] {
    return this.#lists.errors
  }

  hasIdentity(spiffeId: string): boolean {
    return this.#identities.has(spiffeId)
  }

  /** Upper-case hex without leading zeros. */
  hasSerial(serial: string): boolean {
    return this.#serials.has(serial)
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener)
  }

  close(): void {
    this.#unfollow()
    this.#changes.clear()
  }

  #take(object: KubernetesObject | undefined): void {
    this.#lists = object === undefined ? NONE : parseRevocations(revocationData(object))
    this.#identities = new Set(this.#lists.identities)
    this.#serials = new Set(this.#lists.serials)
    for (const { list, line, message } of this.errors.slice(0, MAX_LOGGED)) {
      const where = line === undefined ? "" : `line ${line} of \`${list}\` in `
      this.#log.warn({ list, line }, `${where}the revocations: ${message}`)
    }
    this.#changes.emit()
  }
}
