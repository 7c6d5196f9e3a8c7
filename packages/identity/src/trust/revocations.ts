// SPDX-License-Identifier: Apache-2.0
// Parses revocation lists as users write them: one entry per line or separated by commas, with or without dashes and
// quotes, comments after `#`. Invalid entries are reported and do not affect others: the worst case would be a
// revocation that is silently ignored.

import { parseSpiffeId } from "@merlon/policy/request"
import { nearest } from "@merlon/policy/shape"
import { canonicalSerial } from "../x509/serial.js"

const LISTS = ["identities", "serials"] as const
type List = (typeof LISTS)[number]

export interface RevocationError {
  /** The key of the list. */
  readonly list: string
  /** From 1; undefined if the key itself is invalid. */
  readonly line: number | undefined
  readonly message: string
}

export interface RevocationLists {
  /** `spiffe://…`, sorted, without duplicates. */
  readonly identities: readonly string[]
  /** Upper-case hex without leading zeros, sorted, without duplicates. */
  readonly serials: readonly string[]
  readonly errors: readonly RevocationError[]
}

/** RFC 5280 section 4.1.2.2: at most 20 octets. */
const SERIAL = /^(0x)?[0-9a-f]{1,40}$/i
const OCTETS = /^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){0,19}$/i
const SHOWN = 80

/** By key, as in the data of a ConfigMap. */
export function parseRevocations(data: { readonly [key: string]: string }): RevocationLists {
  const errors: RevocationError[] = []
  for (const key of Object.keys(data)) {
    if (LISTS.some(list => list === key)) continue
    const meant = nearest(key.toLowerCase(), LISTS)
    const hint = meant === undefined ? "use `identities` or `serials`" : `write \`${meant}\``
    errors.push({ list: key, line: undefined, message: `the key \`${shown(key)}\` is unknown; ${hint}` })
  }
  const identities = readList("identities", data.identities, errors)
  const serials = readList("serials", data.serials, errors)
  return { identities, serials, errors }
}

function readList(list: List, text = "", errors: RevocationError[]): readonly string[] {
  const found = new Set<string>()
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    for (const entry of entriesOf(list, raw.replace(/#.*/, ""))) {
      const read = list === "identities" ? readIdentity(entry) : readSerial(entry)
      if (read !== undefined) {
        found.add(read)
        continue
      }
      const expected =
        list === "identities"
          ? "write `spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/ACCOUNT`"
          : "write the serial number in hex, with or without colons"
      errors.push({ list, line: index + 1, message: `\`${shown(entry)}\` is invalid and revokes nothing; ${expected}` })
    }
  }
  return [...found].sort()
}

/** A serial may contain white space between groups of digits, so serials are not split there. */
function entriesOf(list: List, line: string): readonly string[] {
  const between = list === "identities" ? /[,;\s[\]]+/ : /[,;[\]]+/
  return line
    .replace(/^\s*[-*]\s+/, "")
    .split(between)
    .map(entry =>
      entry
        .trim()
        .replace(/^(["'])(.*)\1$/, "$2")
        .trim(),
    )
    .filter(entry => entry !== "")
}

/** RFC 3986 sections 3.1 and 3.2.2: scheme and host are case-insensitive. The scheme is optional, as in policies. */
function readIdentity(entry: string): string | undefined {
  const [trustDomain = "", ...path] = entry.replace(/^spiffe:\/\//i, "").split("/")
  return parseSpiffeId(`spiffe://${[trustDomain.toLowerCase(), ...path].join("/")}`)?.uri
}

/** openssl prints serials with the prefix `serial=`. */
function readSerial(entry: string): string | undefined {
  const digits = entry.replace(/^serial\s*=\s*/i, "")
  if (!SERIAL.test(digits) && !OCTETS.test(digits)) return undefined
  return canonicalSerial(digits.replace(/^0x/i, "").replaceAll("-", ""))
}

function shown(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
