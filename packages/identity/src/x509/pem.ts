// SPDX-License-Identifier: Apache-2.0
// The textual encoding of RFC 7468. Text between blocks is skipped, as is common; a block that begins must end and
// contain base64.

export interface PemBlock {
  readonly label: string
  readonly der: Buffer
}

export type PemResult =
  | { readonly ok: true; readonly blocks: readonly PemBlock[] }
  | { readonly ok: false; readonly message: string }

/** Enough for a trust bundle of hundreds of roots. */
const MAX_CHARACTERS = 1024 * 1024
const BOUNDARY = /^-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

export function readPem(text: string): PemResult {
  if (text.length > MAX_CHARACTERS) return { ok: false, message: `longer than ${MAX_CHARACTERS} characters` }
  const blocks: PemBlock[] = []
  let open: { label: string; line: number; lines: string[] } | undefined
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim()
    const [, edge, label = ""] = BOUNDARY.exec(line) ?? []
    if (edge === undefined) {
      if (line.startsWith("-----")) return { ok: false, message: `line ${index + 1} is an invalid PEM boundary` }
      if (line !== "") open?.lines.push(line)
    } else if (edge === "BEGIN") {
      if (open !== undefined) return { ok: false, message: `the block that begins in line ${open.line} has no end` }
      open = { label, line: index + 1, lines: [] }
    } else {
      if (open?.label !== label) return { ok: false, message: `line ${index + 1} ends a block that has no beginning` }
      const base64 = open.lines.join("")
      if (!BASE64.test(base64) || base64.length % 4 !== 0) {
        return { ok: false, message: `the block that begins in line ${open.line} is not base64` }
      }
      blocks.push({ label, der: Buffer.from(base64, "base64") })
      open = undefined
    }
  }
  if (open !== undefined) return { ok: false, message: `the block that begins in line ${open.line} has no end` }
  return { ok: true, blocks }
}

export function writePem(label: string, der: Uint8Array): string {
  const base64 = Buffer.from(der).toString("base64")
  return `-----BEGIN ${label}-----\n${base64.replaceAll(/.{1,64}/g, "$&\n")}-----END ${label}-----\n`
}
