// SPDX-License-Identifier: Apache-2.0
// Other spellings of a value in a policy that applications treat as the same. For a path: the spellings that the mesh's
// normalisation does not change.

import { isTemplate } from "../../authorization/path-template.js"
import type { MeshConfig } from "../../mesh/config.js"
import { normalizeTarget } from "../../request/path.js"

export interface Spelling {
  /** The spelling that a caller sends. */
  readonly text: string
  /** The spelling that rules see. */
  readonly seen: string
  /** The applications that treat it as the original value. */
  readonly readers: string
  /** What to write so that this spelling is included. */
  readonly fix: string
}

/** For each attribute that has other spellings: the other spellings of a value. */
export const OTHER_SPELLINGS: ReadonlyMap<string, (written: string, mesh: MeshConfig) => readonly Spelling[]> = new Map(
  [
    ["path", pathSpellings],
    ["host", hostSpellings],
  ],
)

const MOST = "most applications"
const SAFEST = "to deny every spelling, use ALLOW policies that leave it out"
/** gRPC's `/package.Service/Method`, for which servers accept only one spelling. */
const GRPC = /^\/(?:\w+\.)*[A-Z]\w*\/[A-Z]\w*$/
/** RFC 3986 section 6.2.2.1: the digits of an escape are case-insensitive. */
const ESCAPE = /%[0-9A-Fa-f]{2}/g

function pathSpellings(written: string, { pathNormalization, dialect }: MeshConfig): readonly Spelling[] {
  if (GRPC.test(written)) return []
  const path = shortestPath(written)
  const bare = path.endsWith("/") ? path.slice(0, -1) : path
  if (bare === "") return []
  const isPrefix = written === `${path}*`
  const wider = isTemplate(written) || written.startsWith("*") ? SAFEST : `write \`${bare}*\`; ${SAFEST}`
  const slash = { text: path === bare ? `${path}/` : bare, readers: MOST, fix: wider }
  const spellings: readonly Omit<Spelling, "seen">[] = [
    // A prefix that ends in a slash means the paths below it.
    ...(isPrefix ? [] : [slash]),
    ...escapeCases(path, written),
    { text: withParameter(path), readers: "servers that cut path parameters off", fix: wider },
    {
      text: withEscapedSlash(bare),
      readers: "applications that decode it",
      fix: `set \`pathNormalization\` to \`DECODE_AND_MERGE_SLASHES\`; ${SAFEST}`,
    },
    {
      text: capitals(path),
      readers: "applications that ignore case",
      fix: `add \`${capitals(written)}\` if the application ignores case; ${SAFEST}`,
    },
    { text: `/${path}`, readers: MOST, fix: "set `pathNormalization` to `MERGE_SLASHES`" },
    { text: `/.${path}`, readers: MOST, fix: "set `pathNormalization` to `MERGE_SLASHES`" },
  ]
  return spellings.flatMap(spelling => {
    const seen = normalizeTarget(spelling.text, pathNormalization, dialect)?.path
    // Undefined means that the request gets a 400.
    return seen === undefined || seen === path ? [] : [{ ...spelling, seen }]
  })
}

/** The shortest path that the value matches, or one of them. */
function shortestPath(written: string): string {
  if (isTemplate(written)) return written.replaceAll(/\{\*\*?\}/g, "x")
  if (written.startsWith("*")) return written === "*" ? "/" : `/x${written.slice(1)}`
  return written.endsWith("*") ? written.slice(0, -1) : written
}

function escapeCases(path: string, written: string): readonly Omit<Spelling, "seen">[] {
  const small = path.replace(ESCAPE, triplet => triplet.toLowerCase())
  const other = path === small ? path.replace(ESCAPE, triplet => triplet.toUpperCase()) : small
  const rest = written.startsWith(path) ? written.slice(path.length) : ""
  return other === path ? [] : [{ text: other, readers: MOST, fix: `add \`${other}${rest}\`` }]
}

/** After the first segment, so that prefixes longer than it do not match. RFC 3986 section 3.3. */
function withParameter(path: string): string {
  return path.includes(";") ? path : path.replace(/^\/+[^/]+/, "$&;x=1")
}

/** Replaces the last slash between two segments, or follows the only one. */
function withEscapedSlash(bare: string): string {
  const between = bare.replace(/([^/])\/([^/]+)$/, "$1%2f$2")
  return between === bare ? `${bare}%2f` : between
}

/** In capitals except for escapes, whose case is covered separately. */
function capitals(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+/g, part => (part.startsWith("%") ? part : part.toUpperCase()))
}

/** RFC 9110 section 7.2: a port may follow the host. */
function hostSpellings(written: string): readonly Spelling[] {
  // A value that ends in a star matches both. Addresses and names with a port have no other spelling worth reporting.
  if (!/^\*?\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?$/i.test(written) || /^[\d.]+$/.test(written)) return []
  const wild = written.startsWith("*")
  const name = wild ? `www${written.slice(1).replace(/^(?!\.)/, ".")}` : written
  const text = `${name}:80`
  // After a leading star, a trailing one would be a literal.
  const ports = wild ? `\`${written}:80\` and whatever other port callers name` : `\`${written}:*\``
  return [{ text, seen: text, readers: MOST, fix: `add ${ports}; ${SAFEST}` }]
}
