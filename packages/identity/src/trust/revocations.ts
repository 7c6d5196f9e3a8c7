// SPDX-License-Identifier: Apache-2.0
// Reads the lists of those who are no longer believed: one identity or serial number a line, comments after `#`.
// A line that cannot be read is reported and takes no other line with it: the good ones still count.

import { parseSpiffeId } from "@merlon/policy"
import { canonicalSerial } from "../x509/serial.js"

export interface RevocationFault {
  readonly list: "identities" | "serials"
  /** From 1. */
  readonly line: number
  readonly message: string
}

export interface RevocationLists {
  /** `spiffe://…`, sorted, each once. */
  readonly identities: readonly string[]
  /** Upper-case hex without leading zeros, sorted, each once. */
  readonly serials: readonly string[]
  readonly faults: readonly RevocationFault[]
}

/** RFC 5280 section 4.1.2.2: at most 20 octets. */
const SERIAL = /^(0x)?[0-9a-f]{1,40}$/i
const COLONS = /^[0-9a-f]{2}(:[0-9a-f]{2}){0,19}$/i
const SHOWN = 80

export function parseRevocations(data: { readonly identities?: string; readonly serials?: string }): RevocationLists {
  const faults: RevocationFault[] = []
  const identities = readList("identities", data.identities, faults)
  const serials = readList("serials", data.serials, faults)
  return { identities, serials, faults }
}

function readList(list: RevocationFault["list"], text = "", faults: RevocationFault[]): readonly string[] {
  const found = new Set<string>()
  for (const [index, raw] of text.split("\n").entries()) {
    const entry = raw.replace(/#.*/, "").trim()
    if (entry === "") continue
    const read = list === "identities" ? readIdentity(entry) : readSerial(entry)
    if (read !== undefined) {
      found.add(read)
      continue
    }
    const shown = entry.length > SHOWN ? `${entry.slice(0, SHOWN)}…` : entry
    const expected =
      list === "identities"
        ? "write `spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/ACCOUNT`"
        : "write the serial number in hex, with or without colons"
    faults.push({ list, line: index + 1, message: `\`${shown}\` revokes nobody; ${expected}` })
  }
  return [...found].sort()
}

function readIdentity(entry: string): string | undefined {
  // Policies name principals without the scheme, so people will do so here too.
  return parseSpiffeId(entry.startsWith("spiffe://") ? entry : `spiffe://${entry}`)?.uri
}

function readSerial(entry: string): string | undefined {
  return SERIAL.test(entry) || COLONS.test(entry) ? canonicalSerial(entry.replace(/^0x/i, "")) : undefined
}
