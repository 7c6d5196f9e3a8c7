// SPDX-License-Identifier: Apache-2.0
// Finds labelled objects by required labels. Starts from the label with the fewest objects and never scans all.

interface Labelled {
  readonly key: string
  readonly namespace: string
  readonly labels: { readonly [key: string]: string }
}

interface Bucket<T> {
  readonly all: Map<string, T>
  /** By `key=value`. A label key contains no `=`, so no two labels share an entry. */
  readonly byLabel: Map<string, Map<string, T>>
}

export class LabelIndex<T extends Labelled> {
  readonly #buckets = new Map<string, Bucket<T>>()

  /** Replaces `earlier`, the entry of the same key, which must be passed if its labels or namespace differ. */
  set(item: T, earlier: T | undefined): void {
    if (earlier !== undefined) this.delete(earlier)
    const bucket: Bucket<T> = this.#buckets.get(item.namespace) ?? { all: new Map(), byLabel: new Map() }
    this.#buckets.set(item.namespace, bucket)
    bucket.all.set(item.key, item)
    for (const [key, value] of Object.entries(item.labels)) {
      const label = `${key}=${value}`
      const items = bucket.byLabel.get(label)
      if (items === undefined) bucket.byLabel.set(label, new Map([[item.key, item]]))
      else items.set(item.key, item)
    }
  }

  delete(item: T): void {
    const bucket = this.#buckets.get(item.namespace)
    if (bucket === undefined) return
    bucket.all.delete(item.key)
    for (const [key, value] of Object.entries(item.labels)) {
      const label = `${key}=${value}`
      const items = bucket.byLabel.get(label)
      items?.delete(item.key)
      if (items?.size === 0) bucket.byLabel.delete(label)
    }
    if (bucket.all.size === 0) this.#buckets.delete(item.namespace)
  }

  /** Objects of one namespace, or of all if undefined. */
  *select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<T> {
    const wanted = Object.entries(labels)
    if (namespace === undefined) for (const bucket of this.#buckets.values()) yield* from(bucket, wanted)
    else {
      const bucket = this.#buckets.get(namespace)
      if (bucket !== undefined) yield* from(bucket, wanted)
    }
  }
}

function* from<T extends Labelled>({ all, byLabel }: Bucket<T>, wanted: readonly [string, string][]): Iterable<T> {
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
