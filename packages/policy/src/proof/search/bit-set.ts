// SPDX-License-Identifier: Apache-2.0
// A bit set of the parts that are still open. The search copies such a set at every step.

export class BitSet {
  readonly #words: Uint32Array

  private constructor(words: Uint32Array) {
    this.#words = words
  }

  static full(size: number): BitSet {
    const words = new Uint32Array((size + 31) >>> 5).fill(0xffff_ffff)
    return new BitSet(words)
  }

  copy(): BitSet {
    return new BitSet(this.#words.slice())
  }

  has(bit: number): boolean {
    return (((this.#words[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1
  }

  delete(bit: number): void {
    const at = bit >>> 5
    this.#words[at] = (this.#words[at] ?? 0) & ~(1 << (bit & 31))
  }
}
