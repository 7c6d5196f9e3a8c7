// SPDX-License-Identifier: Apache-2.0
// A finding with its source line and a caret under the position, as compilers print it.

import type { Position } from "@merlon/policy/resources"
import stringWidth from "string-width"
import { visible } from "../terminal.js"

const MAX_LINE = 160

export function pointAt(text: string, position: Position | undefined): string {
  const line = position === undefined ? undefined : text.split(/\r\n|\r|\n/, position.line)[position.line - 1]
  if (position === undefined || line === undefined) return ""
  // A long line is shown around the place.
  const start = Math.max(0, position.column - 1 - MAX_LINE / 2)
  const before = shownPart(line.slice(start, position.column - 1))
  const after = shownPart(line.slice(position.column - 1, start + MAX_LINE))
  const number = String(position.line)
  const margin = " ".repeat(number.length)
  const skipped = start > 0 ? "…" : ""
  return `  ${number} | ${skipped}${before}${after}\n  ${margin} | ${" ".repeat(stringWidth(skipped + before))}^\n`
}

function shownPart(text: string): string {
  return visible(text.replace(/\t/g, " "))
}
