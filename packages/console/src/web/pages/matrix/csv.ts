// SPDX-License-Identifier: Apache-2.0
// Rows as CSV (RFC 4180). A cell that a spreadsheet would take for a formula begins with an apostrophe.

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map(row => `${row.map(cellOf).join(",")}\r\n`).join("")
}

function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
