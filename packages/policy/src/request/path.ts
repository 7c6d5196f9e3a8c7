// SPDX-License-Identifier: Apache-2.0
// Normalises paths to one spelling, so that a rule and the application cannot disagree about the path. Rules match the
// result, and the result is forwarded. Normalising twice changes nothing: a path whose decoding yields further escapes
// has no canonical form and is rejected.

import type { Dialect, PathNormalization } from "../mesh/config.js"

export interface Target {
  readonly path: string
  /** From the question mark on, unchanged; empty if there is none. */
  readonly query: string
}

/** The target of a request in origin form (or `*`), or undefined if the request must be answered with 400. */
export function normalizeTarget(sent: string, mode: PathNormalization, dialect?: Dialect): Target | undefined {
  // A fragment never belongs in a request target (RFC 9112 section 3.2), and readers differ on where to cut it. Istio's
  // proxy cuts it off.
  if ((dialect !== "istio" && sent.includes("#")) || !isVisible(sent)) return undefined
  const [target = ""] = sent.split("#")
  const question = target.indexOf("?")
  const path = question < 0 ? target : target.slice(0, question)
  const query = question < 0 ? "" : target.slice(question)
  if (path === "*") return { path, query }
  if (path.charCodeAt(0) !== SLASH) return undefined
  const normalized = normalizePath(path, mode, dialect)
  return normalized === undefined ? undefined : { path: normalized, query }
}

const SLASH = 0x2f
const UNRESERVED = /%(?:2[dDeE]|3[0-9]|4[1-9a-fA-F]|5[0-9aA]|5[fF]|6[1-9a-fA-F]|7[0-9aA]|7[eE])/g
const ESCAPE = /^%[0-9a-fA-F]{2}$/
const SLASHES = /%(?:2[fF]|5[cC])/g
const TOUCHED = /[%\\]|\/\.|\/\//
/** Whether Envoy escapes the character when it normalizes a path. */
export const escapedByEnvoy = (unit: string): boolean => '"<>^`{|}'.includes(unit)

/** Normalises only the path, which must begin with a slash. */
export function normalizePath(path: string, mode: PathNormalization, dialect?: Dialect): string | undefined {
  if (mode === "NONE") return path
  const written =
    dialect === "istio" ? path.replace(/[^\w/]/g, unit => (escapedByEnvoy(unit) ? escapeOf(unit) : unit)) : path
  return TOUCHED.test(written) ? resolve(written, mode, dialect) : written
}

const escapeOf = (unit: string): string => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`

function resolve(path: string, mode: PathNormalization, dialect: Dialect | undefined): string | undefined {
  const decodeSlashes = mode === "DECODE_AND_MERGE_SLASHES"
  const decoded =
    dialect === "istio" ? decodedByEnvoy(withoutDotParameters(path, decodeSlashes)) : decode(path, decodeSlashes)
  if (decoded.includes("%") && (decode(decoded, decodeSlashes) !== decoded || decoded.includes("%00"))) return undefined
  const resolved = removeDotSegments(decoded.replaceAll("\\", "/"))
  if (mode === "BASE") return resolved
  // Envoy keeps the first and the last slash of a path.
  if (dialect === "istio" && /^\/{2,}$/.test(resolved)) return "//"
  return resolved.replace(/\/{2,}/g, "/")
}

/**
 * Envoy drops the parameters of `.` and `..` (RFC 3986 section 3.3) if both the dots and the preceding slash are
 * unescaped. Slashes of the result are decoded.
 */
function withoutDotParameters(path: string, decodeSlashes: boolean): string {
  const slashes = decodeSlashes ? path.replace(SLASHES, decodeEscape) : path
  return slashes.replace(/(?<=\/\.{1,2});[^/]*/g, "")
}

/** Envoy writes `%25` for a stray `%` that a decoded character would turn into an escape: `/%a%41` becomes `/%25aA`. */
function decodedByEnvoy(path: string): string {
  let decoded = ""
  let stray = Number.NEGATIVE_INFINITY
  for (const { 0: piece, index } of path.matchAll(/%[0-9a-fA-F]{2}|./g)) {
    if (piece === "%") stray = decoded.length
    const unit = piece.replace(UNRESERVED, decodeEscape)
    decoded += unit
    if (unit === piece || stray < decoded.length - 3) continue
    // `%A` forms an escape with the character that follows; `%aA` is one by itself.
    const next = stray === decoded.length - 2 ? path.charAt(index + piece.length) : ""
    if (!ESCAPE.test(decoded.slice(stray) + next)) continue
    decoded = `${decoded.slice(0, stray)}%25${decoded.slice(stray + 1)}`
  }
  return decoded
}

function decode(path: string, decodeSlashes: boolean): string {
  const slashes = decodeSlashes ? path.replace(SLASHES, decodeEscape) : path
  return slashes.replace(UNRESERVED, decodeEscape)
}

const decodeEscape = (triplet: string): string => String.fromCharCode(Number.parseInt(triplet.slice(1), 16))

// RFC 3986 section 5.2.4. An empty segment counts as a segment: `/a//..` becomes `/a/`.
function removeDotSegments(path: string): string {
  const kept: string[] = []
  const segments = path.slice(1).split("/")
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1
    if (segment !== "." && segment !== "..") {
      kept.push(segment)
      continue
    }
    if (segment === "..") kept.pop()
    if (last) kept.push("")
  }
  return `/${kept.join("/")}`
}

/** RFC 3986 section 2: a URI consists of visible ASCII, and parsers differ on anything else. */
function isVisible(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return true
}
