// SPDX-License-Identifier: Apache-2.0
// Field selectors: `path=value`, `path==value`, `path!=value`, joined by commas; backslash escapes `,`, `=` and itself.
// The caller decides which paths a kind supports.

import { SelectorError } from "./label.js"

export interface FieldRequirement {
  readonly path: string
  readonly equal: boolean
  readonly value: string
}

export type FieldSelector = readonly FieldRequirement[]

export function parseFieldSelector(text: string): FieldSelector {
  return splitTerms(text)
    .filter(term => term !== "")
    .map(term => {
      const match = /^((?:[^=!\\]|\\.|!(?!=))*?)(!=|==|=)(.*)$/s.exec(term)
      if (match === null) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`)
      return { path: match[1] ?? "", equal: match[2] !== "!=", value: unquote(match[3] ?? "") }
    })
}

function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++
    else if (text[i] === ",") {
      terms.push(text.slice(start, i))
      start = i + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

function unquote(text: string): string {
  return text.replace(/\\([\\,=])/g, "$1")
}

export function matchesFields(selector: FieldSelector, fieldValue: (path: string) => string): boolean {
  // ALL terms must match.
  return selector.every(({ path, equal, value }) => (fieldValue(path) === value) === equal)
}
