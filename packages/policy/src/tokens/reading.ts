// SPDX-License-Identifier: Apache-2.0
// A parsed token with the facts about it that never change: how it parses, which key sets signed it, and what rules read
// from it. These depend only on the text and a key set's content, so they can be cached. Whether the token is valid for a
// rule right now is never stored here.

import type { Dialect } from "../mesh/config.js"
import type { KeySet } from "./key-set.js"
import { checkSignature, type SignatureError } from "./signature.js"
import { MAX_TOKEN_CHARACTERS, parseToken, type Token } from "./token.js"
import type { TokenError } from "./token-errors.js"
import { type TokenView, type ViewProfile, viewOf } from "./view.js"

// Several rules may read one token; a workload with more key sets or profiles than this computes some results again.
const MAX_VERDICTS = 8
const MAX_VIEWS = 4

export class TokenReading {
  readonly #verdicts: { readonly revision: string; readonly error: SignatureError | undefined }[] = []
  readonly #views: { readonly profile: string; readonly view: TokenView }[] = []

  constructor(
    readonly text: string,
    readonly token: Token,
  ) {}

  /**
   * INVARIANT: a result is valid for the revision it was computed with, so a changed or withdrawn set is checked again.
   */
  signatureError(keySet: KeySet): SignatureError | undefined {
    for (const verdict of this.#verdicts) if (verdict.revision === keySet.revision) return verdict.error
    const error = checkSignature(this.token, keySet)
    if (this.#verdicts.length === MAX_VERDICTS) this.#verdicts.shift()
    this.#verdicts.push({ revision: keySet.revision, error })
    return error
  }

  view(profile: ViewProfile): TokenView {
    for (const known of this.#views) if (known.profile === profile.id) return known.view
    const view = viewOf(this.token, profile)
    if (this.#views.length === MAX_VIEWS) this.#views.shift()
    this.#views.push({ profile: profile.id, view })
    return view
  }
}

/** Parses the text; returns the reason if it is not a token. */
export function readToken(text: string, dialect?: Dialect): TokenReading | TokenError {
  if (text.length > MAX_TOKEN_CHARACTERS) return "JwtBadFormat"
  // A substring of a request keeps the whole request in memory, and a reading may outlive it by hours. The copy is
  // encoded as UTF-8, which maps no two texts to one that could be a token.
  const own = Buffer.from(text, "utf8").toString("utf8")
  const token = parseToken(own, dialect)
  return typeof token === "string" ? token : new TokenReading(own, token)
}
