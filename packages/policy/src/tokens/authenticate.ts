// SPDX-License-Identifier: Apache-2.0
// The token stage: takes a request, returns a decision with its evidence. Pure and synchronous; the clock is an
// argument, and the cache only saves work and never changes a result. A CORS preflight cannot carry a token and passes,
// but forged output headers are removed from it as from any request. Rules in shadow mode are only judged and reported.

import type { VerifiedToken } from "../request/attributes.js"
import { NO_EDITS, type RequestEdits } from "./edits.js"
import { type Evaluation, evaluate } from "./evaluate.js"
import { evaluateAsIstio } from "./evaluate-istio.js"
import type { TokenRequest } from "./finder.js"
import type { TokenMemory } from "./memory.js"
import type { TokenProgram } from "./program.js"
import { challengeFor } from "./reply.js"
import type { TokenRuleRef } from "./rule.js"
import { editsFor, scrub } from "./strip.js"
import { type TokenError, tokenErrorStatus, tokenErrorText } from "./token-errors.js"

interface Findings {
  /** The rule that accepted or rejected the token; undefined if there was no token to check. */
  readonly by: TokenRuleRef | undefined
  /** Ids (see `keySetId`) of fetched key sets that lack the key a token names: perhaps the issuer has rotated. */
  readonly unknownKeys: readonly string[]
  /** What would happen if the shadow policies were enforced; undefined if there are none. */
  readonly shadow: ShadowOutcome | undefined
}

export interface ShadowOutcome {
  readonly outcome: "pass" | "reject"
  readonly error: TokenError | undefined
  readonly by: TokenRuleRef | undefined
}

export interface Authenticated extends Findings {
  readonly outcome: "pass"
  readonly token: VerifiedToken | undefined
  readonly edits: RequestEdits
}

export interface Unauthenticated extends Findings {
  readonly outcome: "reject"
  readonly error: TokenError
  readonly status: 401 | 403
  readonly body: string
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string
}

export type Authentication = Authenticated | Unauthenticated

const NONE: readonly never[] = Object.freeze([])

const UNTOUCHED: Authenticated = Object.freeze(passed(undefined, undefined, NO_EDITS, NONE, undefined))

/** `now` in seconds since the epoch. Without a memory, every signature is verified. */
export function authenticate(
  program: TokenProgram,
  request: TokenRequest,
  now: number,
  memory: TokenMemory | undefined,
): Authentication {
  if (program.rules.length === 0 && program.shadow === undefined) return UNTOUCHED
  if (isPreflight(request)) {
    const edits = scrub(program.outputs, request)
    return edits === NO_EDITS ? UNTOUCHED : passed(undefined, undefined, edits, NONE, undefined)
  }
  const judged = program.dialect === "istio" ? evaluateAsIstio : evaluate
  const { error, by, view, spots, edits, unknownKeys } = judged(program, request, now, memory)
  const shadowed = program.shadow === undefined ? undefined : judged(program.shadow, request, now, memory)
  const shadow = shadowed === undefined ? undefined : shadowOutcome(shadowed)
  const missed = shadowed === undefined ? unknownKeys : union(unknownKeys, shadowed.unknownKeys)
  if (error === undefined) {
    return passed(view?.verified, by?.ref, edits ?? editsFor(program.outputs, spots, request), missed, shadow)
  }
  return {
    outcome: "reject",
    error,
    status: tokenErrorStatus(error),
    body: tokenErrorText(error),
    challenge: challengeFor(error, request),
    by: by?.ref,
    unknownKeys: missed,
    shadow,
  }
}

function passed(
  token: VerifiedToken | undefined,
  by: TokenRuleRef | undefined,
  edits: RequestEdits,
  unknownKeys: readonly string[],
  shadow: ShadowOutcome | undefined,
): Authenticated {
  return { outcome: "pass", token, edits, by, unknownKeys, shadow }
}

// Fetch section 3.3.2: a preflight has all three. If any one is missing, the token is verified.
function isPreflight({ method, headers }: TokenRequest): boolean {
  return method === "OPTIONS" && hasText(headers.get("origin")) && hasText(headers.get("access-control-request-method"))
}

function hasText(lines: readonly string[] | undefined): boolean {
  return lines?.some(line => line.trim() !== "") ?? false
}

function shadowOutcome({ error, by }: Evaluation): ShadowOutcome {
  return { outcome: error === undefined ? "pass" : "reject", error, by: by?.ref }
}

function union(a: readonly string[], b: readonly string[]): readonly string[] {
  return b.length === 0 ? a : [...new Set([...a, ...b])]
}
