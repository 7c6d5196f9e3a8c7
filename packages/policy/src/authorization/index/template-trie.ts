// SPDX-License-Identifier: Apache-2.0
// Path templates by segment, so that templates which share a beginning are walked once and a path is cut once.

import { areSegments, isOneSegment, type PathTemplate } from "../path-template.js"

interface Node<V> {
  readonly literals: Map<string, Node<V>>
  one: Node<V> | undefined
  /** A template ends here. */
  end: V | undefined
  /** Templates that go on with `{**}` from here, by what must follow it. */
  readonly many: Map<string, V>
}

const node = <V>(): Node<V> => ({ literals: new Map(), one: undefined, end: undefined, many: new Map() })

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
      let next = at.literals.get(segment.literal)
      if (next === undefined) {
        next = node()
        at.literals.set(segment.literal, next)
      }
      at = next
    }
    if (tail === undefined) {
      at.end ??= create()
      return at.end
    }
    const existing = at.many.get(tail)
    if (existing !== undefined) return existing
    const created = create()
    at.many.set(tail, created)
    return created
  }

  /** Visits the value of every template that the whole path matches until one visit says true. */
  some(path: string, visit: (value: V) => boolean): boolean {
    return path.charCodeAt(0) === SLASH && walk(this.#root, path, 1, visit)
  }
}

const SLASH = 0x2f

function walk<V>(at: Node<V>, path: string, from: number, visit: (value: V) => boolean): boolean {
  for (const [tail, value] of at.many) {
    const end = path.length - tail.length
    if (end >= from && path.endsWith(tail) && areSegments(path.slice(from, end)) && visit(value)) return true
  }
  if (at.literals.size === 0 && at.one === undefined) return false
  const slash = path.indexOf("/", from)
  const segment = slash < 0 ? path.slice(from) : path.slice(from, slash)
  const literal = at.literals.get(segment)
  if (literal !== undefined && step(literal, path, slash, visit)) return true
  return at.one !== undefined && isOneSegment(segment) && step(at.one, path, slash, visit)
}

function step<V>(to: Node<V>, path: string, slash: number, visit: (value: V) => boolean): boolean {
  if (slash < 0) return to.end !== undefined && visit(to.end)
  return walk(to, path, slash + 1, visit)
}
