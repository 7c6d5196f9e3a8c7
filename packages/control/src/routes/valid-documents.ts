// SPDX-License-Identifier: Apache-2.0
// The documents of one kind that validate, out of all that are stored. One that cannot be read never takes the place of
// one that could, unless that one was deleted.

import { isDeepStrictEqual } from "node:util"
import { type Fault, type Kind, type MeshNames, type PolicyDocument, validate } from "@merlon/policy"
import type { Change, Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { Documents } from "./documents.js"

type OfKind<K extends Kind> = Extract<PolicyDocument, { readonly kind: K }>

export class ValidDocuments<K extends Kind> implements Documents<OfKind<K>> {
  readonly #kind: K
  readonly #names: MeshNames
  readonly #onInvalid: (key: string, faults: readonly Fault[]) => void
  readonly #items = new Map<string, OfKind<K>>()
  readonly #listeners = new Set<(change: Change<OfKind<K>>) => void>()
  readonly #stop: () => void

  constructor(
    kind: K,
    source: Pick<Reflected<KubernetesObject>, "items" | "onChange">,
    names: MeshNames,
    onInvalid: (key: string, faults: readonly Fault[]) => void = () => {},
  ) {
    this.#kind = kind
    this.#names = names
    this.#onInvalid = onInvalid
    this.#stop = source.onChange(({ key, object }) => this.#changed(key, object))
    for (const [key, object] of source.items) this.#changed(key, object)
  }

  get items(): ReadonlyMap<string, OfKind<K>> {
    return this.#items
  }

  onChange(listener: (change: Change<OfKind<K>>) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  close(): void {
    this.#stop()
    this.#listeners.clear()
  }

  #changed(key: string, stored: KubernetesObject | undefined): void {
    const previous = this.#items.get(key)
    const object = stored === undefined ? undefined : this.#read(key, stored, previous)
    // Most changes are of the status, which says nothing new.
    if (object === previous || (object !== undefined && previous !== undefined && meansTheSame(object, previous)))
      return
    if (object === undefined) this.#items.delete(key)
    else this.#items.set(key, object)
    for (const listener of [...this.#listeners]) listener({ key, object, previous })
  }

  #read(key: string, stored: KubernetesObject, previous: OfKind<K> | undefined): OfKind<K> | undefined {
    const { document, faults } = validate(stored, this.#names)
    if (document !== undefined && isOfKind(document, this.#kind)) return document
    this.#onInvalid(key, faults)
    return previous !== undefined && previous.metadata.uid === stored.metadata.uid ? previous : undefined
  }
}

function isOfKind<K extends Kind>(document: PolicyDocument, kind: K): document is OfKind<K> {
  return document.kind === kind
}

function meansTheSame(a: PolicyDocument, b: PolicyDocument): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.creationTimestamp === b.metadata.creationTimestamp &&
    isDeepStrictEqual(a.metadata.annotations, b.metadata.annotations) &&
    isDeepStrictEqual(a.spec, b.spec)
  )
}
