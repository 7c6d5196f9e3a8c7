// SPDX-License-Identifier: Apache-2.0
// Other spellings of what a policy names, that applications take for the same.

import { isTemplate } from "../../authorization/path-template.js"

export interface Spelling {
  readonly text: string
  /** What to write, so that this one is meant too. */
  readonly fix: string
}

/** Of the attributes that have such: how each value may be spelled otherwise. */
export const OTHER_SPELLINGS: ReadonlyMap<string, (written: string) => readonly Spelling[]> = new Map([
  ["path", pathSpellings],
  ["host", hostSpellings],
])

/** gRPC's `/package.Service/Method`, which its servers know by one spelling alone. */
const GRPC = /^\/(?:\w+\.)*[A-Z]\w*\/[A-Z]\w*$/
/** RFC 3986 section 6.2.2.1: the case of its digits makes no difference. */
const ESCAPE = /%[0-9A-Fa-f]{2}/g

function pathSpellings(written: string): readonly Spelling[] {
  if (written === "/" || !written.startsWith("/") || isTemplate(written) || GRPC.test(written)) return []
  const text = written.endsWith("*") ? written.slice(0, -1) : written
  const bare = text.endsWith("/") ? text.slice(0, -1) : text
  const slash: Spelling = {
    text: text === bare ? `${text}/` : bare,
    fix: `write \`${bare}*\`, or \`${bare}\` with \`${bare}/*\`; what must stay closed in every spelling is safest left out of an ALLOW policy`,
  }
  const small = text.replace(ESCAPE, triplet => triplet.toLowerCase())
  const capital = text.replace(ESCAPE, triplet => triplet.toUpperCase())
  const other = text === small ? capital : small
  const escapes: Spelling = { text: other, fix: `add \`${other}${written.slice(text.length)}\`` }
  return [...(text === written ? [slash] : []), ...(other === text ? [] : [escapes])]
}

/** RFC 9110 section 7.2: a port may stand behind it. RFC 1034 section 3.1: a dot at the end says that the name is whole. */
function hostSpellings(written: string): readonly Spelling[] {
  // One that ends in a star takes both; of an address, and of a name with its port, there is no other worth naming.
  if (!/^\*?\.?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/i.test(written) || /^[\d.]+$/.test(written)) return []
  const wild = written.startsWith("*")
  const name = wild ? `www${written.slice(1).replace(/^(?!\.)/, ".")}` : written
  // With a star in front the one behind would be a letter.
  const ports = wild ? `\`${written}:80\` and whatever other port callers name` : `\`${written}:*\``
  const fix = `add ${ports}, and \`${written}.\`; what must stay closed in every spelling is safest left out of an ALLOW policy`
  return [
    { text: `${name}:80`, fix },
    { text: `${name}.`, fix },
  ]
}
