// SPDX-License-Identifier: Apache-2.0
// One value that a policy gives for an attribute. A mark separates some of the attribute's values from the others, which
// is how classes are found.

import type { PathTemplate } from "../../authorization/path-template.js"
import type { Pattern } from "../../authorization/pattern.js"
import { patternsApart } from "../../authorization/pattern-covers.js"
import { type Cidr, cidrCovers } from "../../request/ip.js"
import type { Step } from "./steps.js"

export interface TextMark {
  readonly kind: "text"
  /** INVARIANT: marks with equal keys match the same values. */
  readonly key: string
  /** Computed on demand: most values are never compared with any other. */
  steps(): readonly Step[]
  /** The pattern, if it applies to the whole text unchanged: such patterns can be compared without running anything. */
  readonly pattern: Pattern | undefined
}

export interface BlockMark {
  readonly kind: "block"
  readonly key: string
  readonly block: Cidr
}

/** One of a few values that have no structure. */
export interface ChoiceMark {
  readonly kind: "choice"
  readonly key: string
}

/** A condition on issuer and subject together; an undefined half may have any value or be absent. */
export interface SubjectMark {
  readonly kind: "subject"
  readonly key: string
  readonly issuer: TextMark | undefined
  readonly subject: TextMark | undefined
}

export type Mark = TextMark | BlockMark | ChoiceMark | SubjectMark

/** Whether no value can match both marks. Never wrongly true; false if that is hard to determine. */
export function areApart(a: Mark, b: Mark): boolean {
  if (a.kind === "text" && b.kind === "text") return textsApart(a, b)
  if (a.kind === "choice" && b.kind === "choice") return a.key !== b.key
  if (a.kind === "block" && b.kind === "block") return !cidrCovers(a.block, b.block) && !cidrCovers(b.block, a.block)
  if (a.kind === "subject" && b.kind === "subject") {
    return textsApart(a.issuer, b.issuer) || textsApart(a.subject, b.subject)
  }
  return false
}

function textsApart(a: TextMark | undefined, b: TextMark | undefined): boolean {
  return a?.pattern !== undefined && b?.pattern !== undefined && patternsApart(a.pattern, b.pattern)
}

/**
 * The prefix of every value of the mark. If two marks share a value, the head of one is a prefix of the other's head.
 */
export function headOf(mark: Mark): string {
  switch (mark.kind) {
    case "text":
      return mark.pattern === undefined ? "" : patternHead(mark.pattern)
    case "block":
      return blockHead(mark.block)
    case "choice":
      return mark.key + END
    case "subject":
      return ""
  }
}

// Follows a whole text, so that the text is not a prefix of any other.
const END = "\u0000"

function patternHead(pattern: Pattern): string {
  switch (pattern.kind) {
    case "exact":
      return pattern.text + END
    case "prefix":
      return pattern.text
    case "template":
      return templateHead(pattern.template)
    case "stars":
      return pattern.pieces[0] ?? ""
    case "suffix":
    case "present":
      return ""
  }
}

function templateHead({ head }: PathTemplate): string {
  let text = ""
  for (const segment of head) {
    text += "/"
    if (segment === "one") break
    text += segment.literal
  }
  return text
}

/** The bits that all addresses of the block have in common. */
function blockHead({ address: { family, words }, bits }: Cidr): string {
  const all = words.map(word => (word >>> 0).toString(2).padStart(32, "0")).join("")
  // The four bytes of the smaller family are the last word.
  return `${family}:${family === 4 ? all.slice(96, 96 + bits) : all.slice(0, bits)}`
}
