// SPDX-License-Identifier: Apache-2.0
// Numbers in JSON text that a double cannot represent, such as account numbers of 18 digits. Rounding could make two of
// them equal, and a DENY on one would miss it. They are kept as text, exactly as the issuer wrote them, and policies
// compare claims as text.

/** Matches if a number may be too long or its exponent too large. Almost no payload matches. */
const SUSPECT = /[0-9.]{16}|[eE][+-]?[0-9]{3}/
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g
/** This many decimal digits survive the conversion to a double and back. */
const EXACT_DIGITS = 15

/** The text with such numbers quoted; undefined if it has none. INVARIANT: the text is known to be JSON. */
export function quoteInexactNumbers(json: string): string | undefined {
  if (!SUSPECT.test(json)) return undefined
  const quoted = json.replace(STRING_OR_NUMBER, piece =>
    piece.startsWith('"') || isExact(piece) ? piece : `"${piece}"`,
  )
  return quoted === json ? undefined : quoted
}

function isExact(literal: string): boolean {
  const value = Number(literal)
  const mantissa = literal.replace(/[eE].*$/, "").replace(/[-.]/g, "")
  const digits = mantissa.replace(/^0+|0+$/g, "")
  if (!Number.isFinite(value) || (value === 0 && digits !== "")) return false
  return digits.length <= EXACT_DIGITS || String(value) === literal
}
