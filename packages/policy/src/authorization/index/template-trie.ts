// SPDX-License-Identifier: Apache-2.0
// Path templates by segment, so that templates which share a beginning are walked once and a path is cut once.

import { areSegments, isOneSegment, type PathTemplate } from "../path-template.js"

interface Node<V> {
  literal: { readonly segment: string; readonly node: Node<V> } | undefined
  /** Further literals; most nodes have one, which needs no hashing. */
  literals: Map<string, Node<V>> | undefined
  one: Node<V> | undefined
  /** A template ends here. */
  end: V | undefined
  /** Templates that go on with `{**}` from here, by what must follow it. */
  readonly many: { readonly tail: string; readonly value: V }[]
}

const node = <V>(): Node<V> => ({
  literal: undefined,
  literals: undefined,
  one: undefined,
  end: undefined,
  many: [],
})

export class TemplateTrie<V> {
  readonly #root = node<V>()

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
    const existing = at.many.find(many => many.tail === tail)
    if (existing !== undefined) return existing.value
    const value = create()
    at.many.push({ tail, value })
    return value
  }

  /** Visits the value of every template that the whole path matches until one visit says true. */
  some(path: string, visit: (value: V) => boolean): boolean {
    return path.charCodeAt(0) === SLASH && walk(this.#root, path, 1, visit)
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
  for (const { tail, value } of at.many) {
    const end = path.length - tail.length
    if (end >= from && path.endsWith(tail) && areSegments(path, from, end) && visit(value)) return true
  }
  const { literal, literals, one } = at
  if (literal === undefined && one === undefined) return false
  const slash = path.indexOf("/", from)
  const end = slash < 0 ? path.length : slash
  if (literal !== undefined && end - from === literal.segment.length && path.startsWith(literal.segment, from)) {
    if (step(literal.node, path, slash, visit)) return true
  } else if (literals !== undefined) {
    const further = literals.get(path.slice(from, end))
    if (further !== undefined && step(further, path, slash, visit)) return true
  }
  return one !== undefined && isOneSegment(path, from, end) && step(one, path, slash, visit)
}

function step<V>(to: Node<V>, path: string, slash: number, visit: (value: V) => boolean): boolean {
  if (slash < 0) return to.end !== undefined && visit(to.end)
  return walk(to, path, slash + 1, visit)
}
