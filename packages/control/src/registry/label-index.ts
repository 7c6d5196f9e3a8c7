// SPDX-License-Identifier: Apache-2.0
// Things that carry labels, found by the labels they must have: from the smallest set of one label, never by looking at
// all of them.

interface Labelled {
  readonly key: string
  readonly namespace: string
  readonly labels: { readonly [key: string]: string }
}

interface Shelf<T> {
  readonly all: Map<string, T>
  /** By `key=value`. A label key holds no `=`, so no two labels share an entry. */
  readonly byLabel: Map<string, Map<string, T>>
}

export class LabelIndex<T extends Labelled> {
  readonly #shelves = new Map<string, Shelf<T>>()

  /** Takes the place of an earlier one of the same key, which must be given where its labels or namespace differ. */
  set(item: T, earlier: T | undefined): void {
    if (earlier !== undefined) this.delete(earlier)
    const shelf: Shelf<T> = this.#shelves.get(item.namespace) ?? { all: new Map(), byLabel: new Map() }
    this.#shelves.set(item.namespace, shelf)
    shelf.all.set(item.key, item)
    for (const [key, value] of Object.entries(item.labels)) {
      const label = `${key}=${value}`
      const items = shelf.byLabel.get(label)
      if (items === undefined) shelf.byLabel.set(label, new Map([[item.key, item]]))
      else items.set(item.key, item)
    }
  }

  delete(item: T): void {
    const shelf = this.#shelves.get(item.namespace)
    if (shelf === undefined) return
    shelf.all.delete(item.key)
    for (const [key, value] of Object.entries(item.labels)) {
      const label = `${key}=${value}`
      const items = shelf.byLabel.get(label)
      items?.delete(item.key)
      if (items?.size === 0) shelf.byLabel.delete(label)
    }
    if (shelf.all.size === 0) this.#shelves.delete(item.namespace)
  }

  /** Of one namespace, or of all. */
  *select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<T> {
    const wanted = Object.entries(labels)
    if (namespace === undefined) for (const shelf of this.#shelves.values()) yield* from(shelf, wanted)
    else {
      const shelf = this.#shelves.get(namespace)
      if (shelf !== undefined) yield* from(shelf, wanted)
    }
  }
}

function* from<T extends Labelled>({ all, byLabel }: Shelf<T>, wanted: readonly [string, string][]): Iterable<T> {
  let smallest = all
  for (const [key, value] of wanted) {
    const items = byLabel.get(`${key}=${value}`)
    if (items === undefined) return
    if (items.size < smallest.size) smallest = items
  }
  for (const item of smallest.values()) {
    if (wanted.every(([key, value]) => Object.hasOwn(item.labels, key) && item.labels[key] === value)) yield item
  }
}
