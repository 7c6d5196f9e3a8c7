// SPDX-License-Identifier: Apache-2.0
// The versions that proxies of other replicas enforce. Equal contents are stored once, because thousands of proxies
// enforce the same ones. Unused entries are dropped.

import type { Enforced } from "./ledger.js"

export class InternedVersions {
  readonly #maps = new Map<string, WeakRef<Enforced>>()
  readonly #forgotten = new FinalizationRegistry<string>(id => {
    if (this.#maps.get(id)?.deref() === undefined) this.#maps.delete(id)
  })

  of(entries: Iterable<readonly [name: string, version: string]>): Enforced {
    const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
    // Neither names nor versions contain a line break.
    const id = sorted.map(([name, version]) => `${name}=${version}`).join("\n")
    const known = this.#maps.get(id)?.deref()
    if (known !== undefined) return known
    const versions = new Map(sorted.map(([name, version]) => [name, { version }]))
    this.#maps.set(id, new WeakRef(versions))
    this.#forgotten.register(versions, id)
    return versions
  }
}
