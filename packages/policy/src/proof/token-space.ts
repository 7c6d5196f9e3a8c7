// SPDX-License-Identifier: Apache-2.0
// The dimensions of one token of a request. A request with two tokens has two of these spaces.

import {
  choiceDimension,
  type Dimension,
  subjectDimension,
  type TextOptions,
  textDimension,
} from "./classes/dimension.js"
import { ANY_TEXT } from "./classes/language.js"
import type { TextMark } from "./classes/mark.js"
import { REST } from "./classes/steps.js"
import { type Region, region } from "./search/formula.js"

/** Claims that must be a single text if a token has them. */
const SINGLE_CLAIMS: ReadonlySet<string> = new Set(["jti"])
export const NO_KEY = "no key of any rule"

interface Claim {
  readonly path: readonly string[]
  readonly dimension: Dimension
}

export class TokenSpace {
  readonly subject: Dimension
  readonly key: Dimension
  readonly expiry: Dimension
  readonly #claims = new Map<string, Claim>()

  constructor(
    /** Distinguishes its dimensions from those of another token; empty for the first token. */
    readonly name: string,
    /** Ids of the keys that sign tokens. */
    readonly keys: readonly string[],
    readonly issuers: readonly string[],
  ) {
    const text = (preferred: readonly string[]): TextOptions => ({ language: ANY_TEXT, optional: true, preferred })
    const subject = text(["someone"])
    this.subject = subjectDimension(`${name}subject`, text([...issuers, "https://issuer.example"]), subject)
    this.key = choiceDimension(`${name}token key`, [...keys, NO_KEY])
    this.expiry = choiceDimension(`${name}expiry`, ["set", "none"])
  }

  claim(path: readonly string[]): Dimension {
    const id = JSON.stringify(path)
    let known = this.#claims.get(id)
    if (known === undefined) {
      const single = path.length === 1 && SINGLE_CLAIMS.has(path[0] ?? "")
      const dimension = textDimension(`${this.name}claim ${id}`, { language: ANY_TEXT, optional: true }, !single)
      known = { path, dimension }
      this.#claims.set(id, known)
    }
    return known.dimension
  }

  get claims(): Iterable<Claim> {
    return this.#claims.values()
  }

  /** A claim that has members is not a text: these regions contain no token. */
  impossible(): readonly Region[] {
    const claims = [...this.#claims.values()]
    return claims.flatMap(outer =>
      claims
        .filter(
          inner => inner.path.length > outer.path.length && outer.path.every((name, at) => inner.path[at] === name),
        )
        .map(inner => region(some(outer.dimension), some(inner.dimension))),
    )
  }
}

const ANY_MARK: TextMark = { kind: "text", key: "any text", steps: () => [REST], pattern: undefined }
const some = (dimension: Dimension) => ({ dimension, negated: false, marks: [ANY_MARK] })
