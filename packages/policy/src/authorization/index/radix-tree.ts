// SPDX-License-Identifier: Apache-2.0
// A compressed trie that finds every stored key that is a prefix of a text (or, built in reverse, a suffix). The cost
// depends on the length of the matching part of the text, not on the number of keys.

interface Node<V> {
  /** The characters between the parent and this node, in the direction of the walk. */
  label: string
  value: V | undefined
  children: Children<V>
}

/** By first character. Most nodes have at most one child and need no table. */
type Children<V> = Node<V> | CharacterTable<Node<V>> | undefined

const node = <V>(label: string, value?: V): Node<V> => ({ label, value, children: undefined })

export class RadixTree<V> {
  readonly #backwards: boolean
  readonly #root = node<V>("")

  constructor(direction: "prefixes" | "suffixes") {
    this.#backwards = direction === "suffixes"
  }

  /** The value stored for exactly this key, created on first use. */
  entry(key: string, create: () => V): V {
    const text = this.#backwards ? reversed(key) : key
    let at = this.#root
    let position = 0
    while (position < text.length) {
      const child = childAt(at, text.charCodeAt(position))
      if (child === undefined) {
        const value = create()
        adopt(at, node(text.slice(position), value))
        return value
      }
      const shared = commonLength(child.label, text, position)
      at = shared < child.label.length ? split(at, child, shared) : child
      position += shared
    }
    at.value ??= create()
    return at.value
  }

  /** Visits the value of every key that is a prefix (suffix) of the text until one visit returns true. */
  some(text: string, visit: (value: V) => boolean): boolean {
    const length = text.length
    let at = this.#root
    let position = 0
    for (;;) {
      if (at.value !== undefined && visit(at.value)) return true
      if (position >= length) return false
      const next = childAt(at, text.charCodeAt(this.#backwards ? length - 1 - position : position))
      if (next === undefined) return false
      const { label } = next
      if (position + label.length > length) return false
      if (this.#backwards) {
        for (let i = 1; i < label.length; i++) {
          if (label.charCodeAt(i) !== text.charCodeAt(length - 1 - position - i)) return false
        }
      } else if (label.length > 1 && !text.startsWith(label, position)) return false
      position += label.length
      at = next
    }
  }
}

function childAt<V>({ children }: Node<V>, code: number): Node<V> | undefined {
  if (children === undefined || children instanceof CharacterTable) return children?.get(code)
  return children.label.charCodeAt(0) === code ? children : undefined
}

/** Replaces the child that begins with the same character, if there is one. */
function adopt<V>(parent: Node<V>, child: Node<V>): void {
  const code = child.label.charCodeAt(0)
  const { children } = parent
  if (children instanceof CharacterTable) children.set(code, child)
  else if (children === undefined || children.label.charCodeAt(0) === code) parent.children = child
  else {
    parent.children = new CharacterTable()
    parent.children.set(children.label.charCodeAt(0), children)
    parent.children.set(code, child)
  }
}

function split<V>(parent: Node<V>, child: Node<V>, length: number): Node<V> {
  const middle = node<V>(child.label.slice(0, length))
  adopt(parent, middle)
  child.label = child.label.slice(length)
  adopt(middle, child)
  return middle
}

const MAX_WIDTH = 128

/** An array from the lowest to the highest character in use, while that is short; it needs few cache lines per step. */
class CharacterTable<V> {
  #lowest = 0
  #dense: (V | undefined)[] | undefined = []
  #sparse: Map<number, V> | undefined

  get(code: number): V | undefined {
    return this.#dense === undefined ? this.#sparse?.get(code) : this.#dense[code - this.#lowest]
  }

  set(code: number, value: V): void {
    if (this.#dense === undefined) this.#sparse?.set(code, value)
    else if (this.#dense[code - this.#lowest] !== undefined) this.#dense[code - this.#lowest] = value
    else this.#rebuild(this.#dense, code, value)
  }

  /** Happens at most once for each of the few characters in a dense table. */
  #rebuild(dense: readonly (V | undefined)[], code: number, value: V): void {
    const codes = new Map([[code, value]])
    for (const [offset, existing] of dense.entries()) {
      if (existing !== undefined) codes.set(this.#lowest + offset, existing)
    }
    this.#lowest = Math.min(...codes.keys())
    const width = Math.max(...codes.keys()) - this.#lowest + 1
    this.#dense =
      width > MAX_WIDTH ? undefined : Array.from({ length: width }, (_, offset) => codes.get(this.#lowest + offset))
    this.#sparse = this.#dense === undefined ? codes : undefined
  }
}

function commonLength(label: string, text: string, from: number): number {
  let length = 0
  while (length < label.length && label.charCodeAt(length) === text.charCodeAt(from + length)) length++
  return length
}

// By code unit, like the walk: reversing by character would break comparisons within surrogate pairs.
function reversed(text: string): string {
  let result = ""
  for (let i = text.length - 1; i >= 0; i--) result += text[i]
  return result
}
