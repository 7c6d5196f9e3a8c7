// SPDX-License-Identifier: Apache-2.0
// Columns in kubectl's format: three spaces between, at least six wide, the last one unpadded. Widths are kept, so that
// rows of a watch align.

import stringWidth from "string-width"

const PADDING = 3
const MIN_WIDTH = 6

export class Columns {
  readonly #widths: number[] = []

  /** One line per row, in the given order. */
  format(rows: readonly (readonly string[])[]): string {
    for (const row of rows) {
      row.slice(0, -1).forEach((cell, index) => {
        const width = Math.max(MIN_WIDTH, stringWidth(cell) + PADDING)
        this.#widths[index] = Math.max(this.#widths[index] ?? 0, width)
      })
    }
    return rows.map(row => `${this.#line(row)}\n`).join("")
  }

  #line(row: readonly string[]): string {
    return row
      .map((cell, index) => {
        const missing = index === row.length - 1 ? 0 : (this.#widths[index] ?? 0) - stringWidth(cell)
        return cell + " ".repeat(Math.max(missing, 0))
      })
      .join("")
  }
}
