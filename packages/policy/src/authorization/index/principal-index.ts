// SPDX-License-Identifier: Apache-2.0
// Request principals by issuer, then by subject. The two are compared separately, never as one joined text, so that a
// subject with a slash cannot impersonate one of another issuer.

import type { PrincipalPattern } from "../request-principal.js"
import { PatternIndex } from "./pattern-index.js"

export class PrincipalIndex<V> {
  readonly #issuers = new PatternIndex<PatternIndex<V>>(false)

  entry({ issuer, subject }: PrincipalPattern, create: () => V): V {
    return this.#issuers.file(issuer, () => new PatternIndex<V>(false)).file(subject, create)
  }

  some(issuer: string, subject: string, visit: (value: V) => boolean): boolean {
    return this.#issuers.match(issuer, subjects => subjects.match(subject, visit))
  }
}
