// SPDX-License-Identifier: Apache-2.0
// Other spellings of a value in a policy that applications treat as the same. For a path: the spellings that the mesh's
// normalisation does not change.

import { isTemplate } from "../../authorization/path-template.js"
import type { MeshConfig } from "../../mesh/config.js"
import { normalizeTarget } from "../../request/path.js"

export interface Spelling {
  /** As a caller sends it. */
  readonly text: string
  /** As rules see it. */
  readonly seen: string
  /** Who takes it for what is written. */
  readonly readers: string
  /** What to write, so that this one is meant too. */
  readonly fix: string
}

/** Of the attributes that have such: how each value may be spelled otherwise. */
export const OTHER_SPELLINGS: ReadonlyMap<string, (written: string, mesh: MeshConfig) => readonly Spelling[]> = new Map(
  [
    ["path", pathSpellings],
    ["host", hostSpellings],
  ],
)

const MOST = "most applications"
const SAFEST = "to deny every spelling, use ALLOW policies that leave it out"
/** gRPC's `/package.Service/Method`, which its servers know by one spelling alone. */
const GRPC = /^\/(?:\w+\.)*[A-Z]\w*\/[A-Z]\w*$/
/** RFC 3986 section 6.2.2.1: the case of its digits makes no difference. */
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
    // A prefix that ends in a slash is meant for what is below it.
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
    // Undefined: the request is answered with 400.
    return seen === undefined || seen === path ? [] : [{ ...spelling, seen }]
  })
}

/** The shortest path that the value names, or one of them. */
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

/** Behind the first segment, where no prefix of more than it reaches. RFC 3986 section 3.3. */
function withParameter(path: string): string {
  return path.includes(";") ? path : path.replace(/^\/+[^/]+/, "$&;x=1")
}

/** In place of the last slash between two segments, or behind the only one. */
function withEscapedSlash(bare: string): string {
  const between = bare.replace(/([^/])\/([^/]+)$/, "$1%2f$2")
  return between === bare ? `${bare}%2f` : between
}

/** In capitals, but for escapes, whose case is another matter. */
function capitals(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+/g, part => (part.startsWith("%") ? part : part.toUpperCase()))
}

/** RFC 9110 section 7.2: a port may stand behind it. */
function hostSpellings(written: string): readonly Spelling[] {
  // One that ends in a star takes both; of an address, and of a name with its port, there is no other worth naming.
  if (!/^\*?\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.?$/i.test(written) || /^[\d.]+$/.test(written)) return []
  const wild = written.startsWith("*")
  const name = wild ? `www${written.slice(1).replace(/^(?!\.)/, ".")}` : written
  const text = `${name}:80`
  // With a star in front the one behind would be a letter.
  const ports = wild ? `\`${written}:80\` and whatever other port callers name` : `\`${written}:*\``
  return [{ text, seen: text, readers: MOST, fix: `add ${ports}; ${SAFEST}` }]
}
