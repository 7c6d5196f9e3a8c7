// SPDX-License-Identifier: Apache-2.0
// Key sets in wire form, and the policies that use each of them.

import { resourceNames } from "@merlon/xds"
import { contentVersion } from "@merlon/xds/runtime"
import type { VersionedResource } from "@merlon/xds/server"
import type { KeySets } from "../keysets/key-sets.js"
import type { Encode, EncodedPolicy } from "./encoded-policy.js"

interface Encoded {
  readonly jwks: string
  readonly resource: VersionedResource
}

export class KeyResources {
  readonly #keySets: KeySets
  readonly #encode: Encode
  readonly #holders = new Map<string, Set<EncodedPolicy>>()
  readonly #encoded = new Map<string, Encoded>()

  constructor(keySets: KeySets, encode: Encode) {
    this.#keySets = keySets
    this.#encode = encode
  }

  holders(id: string): Iterable<EncodedPolicy> {
    return this.#holders.get(id) ?? []
  }

  /** Undefined until the first keys arrive: until then only the tokens of this rule are rejected. */
  get(id: string): VersionedResource | undefined {
    const jwks = this.#keySets.get(id)?.jwks
    if (jwks === undefined) return undefined
    const before = this.#encoded.get(id)
    if (before?.jwks === jwks) return before.resource
    const keySet = { id, jwks }
    const version = contentVersion(keySet)
    const resource = { name: resourceNames.keySet(id), version, value: this.#encode({ kind: "keySet", keySet }) }
    this.#encoded.set(id, { jwks, resource })
    return resource
  }

  /** Returns whether a RequestAuthentication is affected, so that other keys may be needed. */
  replace(before: EncodedPolicy | undefined, after: EncodedPolicy | undefined): boolean {
    if (after !== undefined) this.#hold(after)
    if (before !== undefined) this.#release(before)
    return [before, after].some(policy => policy?.document.kind === "RequestAuthentication")
  }

  #hold(policy: EncodedPolicy): void {
    for (const id of policy.keySets) {
      const holders = this.#holders.get(id) ?? new Set()
      this.#holders.set(id, holders.add(policy))
    }
  }

  #release(policy: EncodedPolicy): void {
    for (const id of policy.keySets) {
      const holders = this.#holders.get(id)
      holders?.delete(policy)
      if (holders?.size !== 0) continue
      this.#holders.delete(id)
      this.#encoded.delete(id)
    }
  }
}
