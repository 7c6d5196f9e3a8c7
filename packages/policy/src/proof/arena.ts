// SPDX-License-Identifier: Apache-2.0
// Evaluates several sets of policies in one shared space, one frame at a time, with the stages of each set. It also
// reports what the search cannot model exactly, so that a missing finding is never mistaken for a proof.

import type { CompiledRule } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type { Budget } from "./budget.js"
import { type Frame, framesOf, seenBy } from "./frame.js"
import { type Stages, stagesOf } from "./outcome.js"
import type { PolicySide } from "./policy-side.js"
import { exactMark, type ReadingContext } from "./read-criterion.js"
import { readRule } from "./read-rule.js"
import { tokensKey } from "./same-side.js"
import { type Problem, type Region, region } from "./search/formula.js"
import { headerOf, headersRead } from "./seen-headers.js"
import { Space } from "./space.js"
import { locationId, type ProofTokenRule } from "./token-rules.js"
import { hostOf, type ProofWorkload } from "./workload.js"

export interface Round {
  readonly frame: Frame
  /** One for each side, in their order; none where the frame cannot have what is looked for. */
  readonly stages: readonly Stages[]
  /** What every request of this frame is, and what none is: part of every problem of this round. */
  readonly given: Problem
  context(side: number): ReadingContext
}

export class Arena {
  readonly space: Space
  readonly rounds: readonly Round[]
  /** Why a missing difference proves nothing; undefined where it is a proof. */
  readonly gap: string | undefined

  constructor(
    readonly sides: readonly PolicySide[],
    readonly workload: ProofWorkload,
    mesh: MeshConfig,
    /** Rules of the question itself, whose claims and headers are part of the space too. */
    asked: readonly CompiledRule[] = [],
    budget?: Budget,
    /** Whether a frame can have what is looked for; its rules are not read where it cannot. */
    concerns: (context: (side: number) => ReadingContext) => boolean = () => true,
  ) {
    const tokens = sides.flatMap(side => side.tokens)
    this.space = new Space({
      mesh,
      ports: workload.ports ?? [],
      host: hostOf(workload),
      namespace: workload.namespace,
      keys: [...new Set(tokens.flatMap(({ keys }) => keys))],
      issuers: [...new Set(tokens.flatMap(({ issuer }) => issuer ?? []))],
    })
    const rules = [...asked, ...sides.flatMap(({ http }) => [...http.deny, ...http.allow, ...http.custom])]
    const read = headersRead(rules)
    const views = new Views(sides, read, unsteady(tokens))
    const derivedHeaders = derived(tokens, mesh)
    const frames = framesOf(tokens, location => read.has(headerOf(location)))
    const drafts = frames.map(frame => {
      const context = (side: number): ReadingContext => ({
        issuers: this.sides[side]?.program.authorization.issuers.enforced ?? new Set(),
        space: this.space,
        derivedHeaders,
        budget,
        ...views.of(side, frame),
      })
      budget?.checkTime()
      for (const rule of asked) readRule(rule, context(0))
      const stages = (concerns(context) ? sides : []).map((side, index) => {
        budget?.checkTime()
        return stagesOf(side, context(index))
      })
      return { frame, context, stages }
    })
    // Known only once every rule has named the claims it looks at.
    const impossible = this.space.impossible()
    this.rounds = drafts.map(draft => ({ ...draft, given: this.#given(draft.frame, impossible) }))
    this.gap = severalTokens(sides, rules, read)
  }

  #given({ token }: Frame, impossible: readonly Region[]): Problem {
    if (token === "none") return { needs: [], bans: [] }
    if (token !== "preflight") return { needs: [], bans: impossible }
    const options = { dimension: this.space.method, negated: false, marks: [exactMark("OPTIONS")] }
    return { needs: [[region(options)]], bans: [] }
  }
}

/** How each side sees what token rules change. */
class Views {
  readonly #changed: readonly string[]

  constructor(
    readonly sides: readonly PolicySide[],
    read: ReadonlySet<string>,
    readonly unsteadyClaims: ReadonlySet<string>,
  ) {
    this.#changed = [...read].filter(name => sides.some(({ headers }) => headers.treatment(name) !== ""))
  }

  of(at: number, frame: Frame): Pick<ReadingContext, "frame" | "headers" | "unsteadyClaims" | "view"> {
    const side = this.sides[at]
    const { unsteadyClaims } = this
    if (side === undefined) throw new RangeError(`there is no side ${at}`)
    const { headers, tokens } = side
    const seen = seenBy(frame, tokens)
    return { frame: seen, headers, unsteadyClaims, view: this.#view(side, seen) }
  }

  #view({ headers, tokens }: PolicySide, { token }: Frame): string {
    const claims = this.unsteadyClaims.size > 0 ? tokens.map(({ acceptance }) => acceptance) : []
    if (this.#changed.length + claims.length === 0) return ""
    return JSON.stringify([token, this.#changed.map(name => headers.treatment(name)), claims])
  }
}

/** Headers that carry tokens or that say who the client is: what a caller sends there is not independent of the frame. */
function derived(tokens: readonly ProofTokenRule[], mesh: MeshConfig): ReadonlySet<string> {
  const names = tokens.flatMap(({ locations }) => locations.map(headerOf))
  if (mesh.numTrustedProxies > 0) names.push("x-forwarded-for")
  // What makes a preflight; only where tokens are looked at does that matter.
  if (tokens.length > 0) names.push("origin", "access-control-request-method")
  return new Set(names)
}

/** Claims that one rule splits at blanks and another does not. */
function unsteady(tokens: readonly ProofTokenRule[]): ReadonlySet<string> {
  const all = new Set(tokens.flatMap(({ delimited }) => [...delimited]))
  return new Set([...all].filter(name => !tokens.every(({ delimited }) => delimited.has(name))))
}

/**
 * The search knows requests with one token. That is exact where a second one changes nothing: no header is read in two ways,
 * a required token is wherever one may be, and the sides accept the same tokens and edit what rules read in the same way, or
 * no rule reads anything that depends on a token.
 */
function severalTokens(
  sides: readonly PolicySide[],
  rules: readonly CompiledRule[],
  read: ReadonlySet<string>,
): string | undefined {
  const locations = sides.flatMap(({ tokens }) => tokens.flatMap(rule => rule.locations))
  const places = new Set(locations.map(({ kind, name }) => `${kind} ${name}`))
  const all = new Set(locations.map(locationId))
  if (places.size < all.size) return "two token rules read one header in different ways"
  for (const { tokens } of sides) {
    const own = new Set(tokens.flatMap(rule => rule.locations.map(locationId)))
    const partial = tokens.some(({ required, locations: where }) => required && where.length < own.size)
    if (partial) return "a token is required in one place while others are accepted elsewhere"
  }
  const [first, ...others] = sides
  if (first === undefined || others.every(side => tokensKey(side, read) === tokensKey(first, read))) return undefined
  const dependsOnTokens = looksAtClaims(rules) || sides.some(({ headers }) => [...read].some(headers.isEdited))
  return dependsOnTokens ? "requests that carry two tokens are not modelled" : undefined
}

function looksAtClaims(rules: readonly CompiledRule[]): boolean {
  return rules.some(({ from, to, when }) =>
    [...from, ...to, when].some(clause => clause.some(({ attribute }) => attribute.name.startsWith("request.auth."))),
  )
}
