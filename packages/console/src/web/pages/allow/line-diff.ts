// SPDX-License-Identifier: Apache-2.0
// A line diff of two texts: unchanged, removed and added lines. Unchanged lines far from any change are left out.

export interface DiffLine {
  readonly sign: " " | "+" | "-"
  readonly text: string
}

const AROUND = 2

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [one, other] = [before.trimEnd().split("\n"), after.trimEnd().split("\n")]
  const lines = merged(one, other, common(one, other))
  const changed = lines.flatMap(({ sign }, at) => (sign === " " ? [] : [at]))
  return lines.filter((_, at) => changed.some(place => Math.abs(place - at) <= AROUND))
}

/** For each pair of positions, the length of the longest common subsequence of the lines from there on. */
function common(one: readonly string[], other: readonly string[]): readonly (readonly number[])[] {
  const table: number[][] = Array.from({ length: one.length + 1 }, () => new Array<number>(other.length + 1).fill(0))
  for (let a = one.length - 1; a >= 0; a--) {
    for (let b = other.length - 1; b >= 0; b--) {
      const row = table[a]
      if (row === undefined) continue
      row[b] =
        one[a] === other[b] ? 1 + (table[a + 1]?.[b + 1] ?? 0) : Math.max(table[a + 1]?.[b] ?? 0, row[b + 1] ?? 0)
    }
  }
  return table
}

function merged(
  one: readonly string[],
  other: readonly string[],
  table: readonly (readonly number[])[],
): readonly DiffLine[] {
  const lines: DiffLine[] = []
  let [a, b] = [0, 0]
  while (a < one.length || b < other.length) {
    if (a < one.length && b < other.length && one[a] === other[b]) {
      lines.push({ sign: " ", text: one[a] ?? "" })
      a += 1
      b += 1
    } else if (a < one.length && (b >= other.length || (table[a + 1]?.[b] ?? 0) >= (table[a]?.[b + 1] ?? 0))) {
      lines.push({ sign: "-", text: one[a] ?? "" })
      a += 1
    } else {
      lines.push({ sign: "+", text: other[b] ?? "" })
      b += 1
    }
  }
  return lines
}
