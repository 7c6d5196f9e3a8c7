// SPDX-License-Identifier: Apache-2.0
// Names under which an application hears what the gate vouches for: headers that verified claims are written to, headers
// that tokens are taken from, what the gate itself says of the connection. Many applications cannot tell the signs in a
// name apart (`foldedName`), and some merge trailers into headers, so whoever could write another spelling of such a name
// could speak for the gate.

import type { Program } from "@merlon/policy"
import { foldedName } from "@merlon/xds"
import { OWN_HEADERS } from "../accept/forwarded-headers.js"

export class ProtectedHeaders {
  /** As configured: what becomes of these the judgement says, or the codec. */
  readonly #exact: ReadonlySet<string>
  readonly #folded: ReadonlySet<string>
  readonly #prefix: string

  constructor({ tokens, mesh }: Program) {
    this.#exact = new Set([...OWN_HEADERS, ...tokens.outputs, ...tokens.headers])
    this.#folded = new Set([...this.#exact].map(foldedName))
    this.#prefix = `x-${mesh.names.mesh}-`
  }

  /** Whether a header is another spelling of a protected one: neither rules nor the application see it. */
  dropsHeader(lowerCaseName: string): boolean {
    return this.dropsTrailer(lowerCaseName) && !this.#exact.has(lowerCaseName)
  }

  /** Whether a trailer is a protected header in any spelling: nobody has judged it. */
  dropsTrailer(lowerCaseName: string): boolean {
    const name = foldedName(lowerCaseName)
    return name.startsWith(this.#prefix) || this.#folded.has(name)
  }
}
