// SPDX-License-Identifier: Apache-2.0
// Writes a claim as a request header. The issuer signed the claim, but a person may have chosen its value (a display
// name, say), so a value that could end the header line is not written at all.

import type { Claim } from "../request/attributes.js"
import { byteText, withoutOuterBlanks } from "../request/byte-text.js"
import type { JsonObject } from "./json-object.js"

/** The claim at a path through nested objects. A name that itself contains a dot cannot be reached. */
export function claimAt(claims: JsonObject, path: readonly string[]): Claim | undefined {
  let claim: Claim | undefined = claims
  for (const name of path) {
    if (!isObject(claim)) return undefined
    claim = claim[name]
  }
  return claim
}

/** Undefined if there is nothing to write: no claim, null, a blank string, or a value that no header can hold. */
export function headerValue(claim: Claim | undefined): string | undefined {
  if (claim === undefined || claim === null) return undefined
  if (typeof claim === "string") return claim === "" ? undefined : fieldValue(claim)
  if (typeof claim === "boolean") return String(claim)
  if (typeof claim === "number") return numberText(claim)
  return Buffer.from(JSON.stringify(claim)).toString("base64")
}

// Fail closed, RFC 9110 section 5.5: a field value has no control characters. Whitespace around a value is not part of
// it: the application does not see it, so a rule on the header must not either. Other characters are written as UTF-8,
// one character per byte, as all header values are stored.
function fieldValue(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return undefined
  }
  const value = withoutOuterBlanks(text)
  return value === "" ? undefined : byteText(value)
}

/** Integers within 64 unsigned bits as digits, other numbers with six decimals, as C prints them. */
function numberText(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 64) return BigInt(value).toString()
  return Math.abs(value) < 1e21 ? value.toFixed(6) : `${BigInt(value)}.000000`
}

function isObject(claim: Claim | undefined): claim is JsonObject {
  return typeof claim === "object" && claim !== null && !Array.isArray(claim)
}
