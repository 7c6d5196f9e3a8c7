// SPDX-License-Identifier: Apache-2.0
// Finds selectors by the labels of an object, the reverse of `label-index.ts`. Each selector is indexed under one of
// its labels, so a lookup takes one step per label and visits only near matches.

interface Selecting {
  readonly namespace: string
  /** Empty selects everything. */
  readonly selector: { readonly [key: string]: string }
}

export class SelectorIndex<T extends Selecting> {
  /** By namespace, then by the label under which they are indexed; undefined for selectors without labels. */
  readonly #buckets = new Map<string, Map<string | undefined, Set<T>>>()

  add(item: T): void {
    const bucket = this.#buckets.get(item.namespace) ?? new Map<string | undefined, Set<T>>()
    this.#buckets.set(item.namespace, bucket)
    const place = placeOf(item)
    const items = bucket.get(place)
    if (items === undefined) bucket.set(place, new Set([item]))
    else items.add(item)
  }

  delete(item: T): void {
    const bucket = this.#buckets.get(item.namespace)
    const place = placeOf(item)
    const items = bucket?.get(place)
    items?.delete(item)
    if (items?.size === 0) bucket?.delete(place)
    if (bucket?.size === 0) this.#buckets.delete(item.namespace)
  }

  /** Selectors of the namespace that match an object with these labels. */
  *matching(namespace: string, labels: { readonly [key: string]: string }): Iterable<T> {
    const bucket = this.#buckets.get(namespace)
    if (bucket === undefined) return
    yield* bucket.get(undefined) ?? []
    for (const [key, value] of Object.entries(labels)) {
      for (const item of bucket.get(`${key}=${value}`) ?? []) if (selectsAll(item.selector, labels)) yield item
    }
  }
}

// The longest label: labels that name an application tend to be longer, and rarer, than those that name a version.
function placeOf({ selector }: Selecting): string | undefined {
  let place: string | undefined
  for (const [key, value] of Object.entries(selector)) {
    const label = `${key}=${value}`
    if (place === undefined || label.length > place.length || (label.length === place.length && label < place)) {
      place = label
    }
  }
  return place
}

function selectsAll(selector: { readonly [key: string]: string }, labels: { readonly [key: string]: string }): boolean {
  return Object.entries(selector).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}
