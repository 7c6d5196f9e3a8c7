// SPDX-License-Identifier: Apache-2.0
// Path templates by segment. Templates that share a prefix are walked once, and a path is split once.

import { isUriPath, type PathTemplate } from "../path-template.js"
import { RadixTree } from "./radix-tree.js"

interface Node<V> {
  literal: { readonly segment: string; readonly node: Node<V> } | undefined
  /** Further literals; most nodes have a single one, which needs no hashing. */
  literals: Map<string, Node<V>> | undefined
  one: Node<V> | undefined
  /** The value of a template that ends here. */
  end: V | undefined
  /** Templates that continue with `{**}`, by their tail; most nodes have a single one, which needs no tree. */
  many: Many<V> | undefined
  manyMore: RadixTree<Many<V>> | undefined
}

interface Many<V> {
  readonly tail: string
  readonly value: V
}

const node = <V>(): Node<V> => ({
  literal: undefined,
  literals: undefined,
  one: undefined,
  end: undefined,
  many: undefined,
  manyMore: undefined,
})

export class TemplateTrie<V> {
  readonly #root = node<V>()
  readonly #ofUri: boolean

  /** `ofUri` applies to all its templates; see `Pattern`. */
  constructor(ofUri: boolean) {
    this.#ofUri = ofUri
  }

  entry({ head, tail }: PathTemplate, create: () => V): V {
    let at = this.#root
    for (const segment of head) {
      if (segment === "one") {
        at.one ??= node()
        at = at.one
        continue
      }
      at = literalNode(at, segment.literal)
    }
    if (tail === undefined) {
      at.end ??= create()
      return at.end
    }
    at.many ??= { tail, value: create() }
    if (at.many.tail === tail) return at.many.value
    at.manyMore ??= new RadixTree("suffixes")
    return at.manyMore.entry(tail, () => ({ tail, value: create() })).value
  }

  /** Visits the value of every template that matches the whole path until one visit returns true. */
  some(path: string, visit: (value: V) => boolean): boolean {
    return path.charCodeAt(0) === SLASH && (!this.#ofUri || isUriPath(path)) && walk(this.#root, path, 1, visit)
  }
}

const SLASH = 0x2f

function literalNode<V>(at: Node<V>, segment: string): Node<V> {
  at.literal ??= { segment, node: node() }
  if (at.literal.segment === segment) return at.literal.node
  at.literals ??= new Map()
  const existing = at.literals.get(segment)
  if (existing !== undefined) return existing
  const created = node<V>()
  at.literals.set(segment, created)
  return created
}

function walk<V>(at: Node<V>, path: string, from: number, visit: (value: V) => boolean): boolean {
  const { many, manyMore, literal, literals, one } = at
  if (many !== undefined && path.endsWith(many.tail) && reaches(many, path, from) && visit(many.value)) return true
  if (manyMore?.some(path, more => reaches(more, path, from) && visit(more.value))) return true
  if (literal === undefined && one === undefined) return false
  const slash = path.indexOf("/", from)
  const end = slash < 0 ? path.length : slash
  if (literal !== undefined && end - from === literal.segment.length && path.startsWith(literal.segment, from)) {
    if (step(literal.node, path, slash, visit)) return true
  } else if (literals !== undefined) {
    const further = literals.get(path.slice(from, end))
    if (further !== undefined && step(further, path, slash, visit)) return true
  }
  return one !== undefined && from < end && step(one, path, slash, visit)
}

/** Whether the tail starts after the head; `{**}` matches the text between them. */
function reaches({ tail }: Many<unknown>, path: string, from: number): boolean {
  return path.length - tail.length >= from
}

function step<V>(to: Node<V>, path: string, slash: number, visit: (value: V) => boolean): boolean {
  if (slash < 0) return to.end !== undefined && visit(to.end)
  return walk(to, path, slash + 1, visit)
}
