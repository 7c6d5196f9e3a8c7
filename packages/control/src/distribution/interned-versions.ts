// SPDX-License-Identifier: Apache-2.0
// Versions by resource name, one object per content: what thousands of proxies enforce alike is kept once, and whether
// two proxies enforce the same is one comparison. What nobody holds any more is forgotten.

export type Versions = ReadonlyMap<string, string>

export class InternedVersions {
  readonly #maps = new Map<string, WeakRef<Versions>>()
  readonly #forgotten = new FinalizationRegistry<string>(id => {
    if (this.#maps.get(id)?.deref() === undefined) this.#maps.delete(id)
  })

  of(entries: Iterable<readonly [name: string, version: string]>): Versions {
    const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
    // Neither names nor versions hold a line's end.
    const id = sorted.map(([name, version]) => `${name}=${version}`).join("\n")
    const known = this.#maps.get(id)?.deref()
    if (known !== undefined) return known
    const versions = new Map(sorted)
    this.#maps.set(id, new WeakRef(versions))
    this.#forgotten.register(versions, id)
    return versions
  }
}
