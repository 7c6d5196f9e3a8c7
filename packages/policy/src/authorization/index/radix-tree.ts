// SPDX-License-Identifier: Apache-2.0
// A compressed trie that finds, for a text, every stored key the text begins with (or, built backwards, ends with).
// The cost follows the length of the text's matching part, not the number of keys.

interface Node<V> {
  /** The characters between the parent and here, in the direction of the walk. */
  label: string
  value: V | undefined
  readonly children: Map<number, Node<V>>
}

export class RadixTree<V> {
  readonly #backwards: boolean
  readonly #root: Node<V> = { label: "", value: undefined, children: new Map() }

  constructor(direction: "prefixes" | "suffixes") {
    this.#backwards = direction === "suffixes"
  }

  /** The value kept for exactly this key, made on first use. */
  entry(key: string, create: () => V): V {
    const text = this.#backwards ? reversed(key) : key
    let node = this.#root
    let position = 0
    while (position < text.length) {
      const child = node.children.get(text.charCodeAt(position))
      if (child === undefined) {
        const leaf: Node<V> = { label: text.slice(position), value: create(), children: new Map() }
        node.children.set(text.charCodeAt(position), leaf)
        return leaf.value as V // just created
      }
      const shared = commonLength(child.label, text, position)
      node = shared < child.label.length ? split(node, child, shared) : child
      position += shared
    }
    node.value ??= create()
    return node.value
  }

  /** Visits the value of every key that is a prefix (suffix) of the text until one visit says true. */
  some(text: string, visit: (value: V) => boolean): boolean {
    const length = text.length
    let node = this.#root
    let position = 0
    for (;;) {
      if (node.value !== undefined && visit(node.value)) return true
      if (position >= length) return false
      const next = node.children.get(text.charCodeAt(this.#backwards ? length - 1 - position : position))
      if (next === undefined) return false
      const { label } = next
      if (position + label.length > length) return false
      if (this.#backwards) {
        for (let i = 1; i < label.length; i++) {
          if (label.charCodeAt(i) !== text.charCodeAt(length - 1 - position - i)) return false
        }
      } else if (label.length > 1 && !text.startsWith(label, position)) return false
      position += label.length
      node = next
    }
  }
}

function split<V>(parent: Node<V>, child: Node<V>, at: number): Node<V> {
  const middle: Node<V> = { label: child.label.slice(0, at), value: undefined, children: new Map() }
  parent.children.set(middle.label.charCodeAt(0), middle)
  child.label = child.label.slice(at)
  middle.children.set(child.label.charCodeAt(0), child)
  return middle
}

function commonLength(label: string, text: string, from: number): number {
  let length = 0
  while (length < label.length && label.charCodeAt(length) === text.charCodeAt(from + length)) length++
  return length
}

// By code unit, as the walk goes: reversing by character would not meet it half-way through a surrogate pair.
function reversed(text: string): string {
  let result = ""
  for (let i = text.length - 1; i >= 0; i--) result += text[i]
  return result
}
