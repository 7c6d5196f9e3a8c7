// SPDX-License-Identifier: Apache-2.0
// Writes rows as CSV (RFC 4180). A cell that a spreadsheet would read as a formula gets an apostrophe in front.

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map(row => `${row.map(cellOf).join(",")}\r\n`).join("")
}

function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
