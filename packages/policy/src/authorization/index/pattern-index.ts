// SPDX-License-Identifier: Apache-2.0
// Values indexed by pattern. A lookup visits the values of every pattern that the text matches, without trying the
// patterns that it does not match.

import { matchesStars, type Pattern } from "../pattern.js"
import { RadixTree } from "./radix-tree.js"
import { TemplateTrie } from "./template-trie.js"

export class PatternIndex<V> {
  // Most fields have one value: comparing it is cheaper than hashing a text that is new with each request.
  #onlyText: string | undefined
  #onlyValue: V | undefined
  #exact: Map<string, V> | undefined
  #prefixes: RadixTree<V> | undefined
  #suffixes: RadixTree<V> | undefined
  #templates: TemplateTrie<V> | undefined
  /** By literal prefix, then by the pattern as written. */
  #stars: RadixTree<Map<string, { readonly pieces: readonly string[]; readonly value: V }>> | undefined
  #present: V | undefined
  readonly #emptyIsPresent: boolean

  /** `emptyIsPresent`: whether `*` matches an empty text, as it does for headers but not for other strings. */
  constructor(emptyIsPresent: boolean) {
    this.#emptyIsPresent = emptyIsPresent
  }

  /** The value stored under this pattern, created on first use. */
  file(pattern: Pattern, create: () => V): V {
    switch (pattern.kind) {
      case "exact":
        return this.#exactEntry(pattern.text, create)
      case "prefix":
        this.#prefixes ??= new RadixTree("prefixes")
        return this.#prefixes.entry(pattern.text, create)
      case "suffix":
        this.#suffixes ??= new RadixTree("suffixes")
        return this.#suffixes.entry(pattern.text, create)
      case "template":
        this.#templates ??= new TemplateTrie(pattern.ofUri)
        return this.#templates.entry(pattern.template, create)
      case "stars": {
        this.#stars ??= new RadixTree("prefixes")
        const alike = this.#stars.entry(pattern.pieces[0] ?? "", () => new Map())
        const written = pattern.pieces.join("*")
        const value = alike.get(written)?.value ?? create()
        alike.set(written, { pieces: pattern.pieces, value })
        return value
      }
      case "present":
        this.#present ??= create()
        return this.#present
    }
  }

  /** Visits the values of every pattern that the text matches until one visit returns true. */
  match(text: string, visit: (value: V) => boolean): boolean {
    const exact = this.#exactly(text)
    if (exact !== undefined && visit(exact)) return true
    if (this.#present !== undefined && (text !== "" || this.#emptyIsPresent) && visit(this.#present)) return true
    if (this.#prefixes?.some(text, visit)) return true
    if (this.#templates?.some(text, visit)) return true
    if (this.#suffixes?.some(text, visit)) return true
    return this.#stars?.some(text, alike => someStars(alike.values(), text, visit)) ?? false
  }

  #exactly(text: string): V | undefined {
    if (this.#exact !== undefined) return this.#exact.get(text)
    return this.#onlyText === text ? this.#onlyValue : undefined
  }

  #exactEntry(text: string, create: () => V): V {
    const existing = this.#exactly(text)
    if (existing !== undefined) return existing
    const created = create()
    if (this.#exact !== undefined) this.#exact.set(text, created)
    else if (this.#onlyText === undefined || this.#onlyValue === undefined) {
      this.#onlyText = text
      this.#onlyValue = created
    } else {
      this.#exact = new Map([
        [this.#onlyText, this.#onlyValue],
        [text, created],
      ])
    }
    return created
  }
}

function someStars<V>(
  patterns: Iterable<{ readonly pieces: readonly string[]; readonly value: V }>,
  text: string,
  visit: (value: V) => boolean,
): boolean {
  for (const { pieces, value } of patterns) if (matchesStars(pieces, text) && visit(value)) return true
  return false
}
