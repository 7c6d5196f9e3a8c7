// SPDX-License-Identifier: Apache-2.0
// Suggests the known word that was most likely meant. Bounded work: words longer than any known word are not compared.

const MAX_LENGTH = 64

/** Undefined if no word is near enough to suggest. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const wanted = plain(word)
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = editDistance(wanted, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  // A third of the letters may differ, but at least two: enough for a swapped pair, too little for a different word.
  return bestDistance <= Math.max(Math.min(2, wanted.length - 1), Math.floor(wanted.length / 3)) ? best : undefined
}

/** `jwks_uri`, `JwksURI` and `jwks-uri` count as the same word. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, "")
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(at(previous, j) + 1, at(current, j - 1) + 1, at(previous, j - 1) + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) cost = Math.min(cost, at(beforePrevious, j - 2) + 1)
      current.push(cost)
    }
    beforePrevious = previous
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
