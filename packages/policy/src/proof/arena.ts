// SPDX-License-Identifier: Apache-2.0
// Where sets of policies meet: one space for all of them, one frame after the other, each side's stages in it. Says also
// what the search cannot follow exactly, so that silence about it is never taken for a proof.

import type { CompiledRule } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type { Budget } from "./budget.js"
import { type Frame, framesOf, seenBy } from "./frame.js"
import { type Stages, stagesOf } from "./outcome.js"
import type { PolicySide } from "./policy-side.js"
import { exactMark, type ReadingContext } from "./read-criterion.js"
import { readRule } from "./read-rule.js"
import { type Problem, type Region, region } from "./search/formula.js"
import { Space } from "./space.js"
import type { ProofTokenRule } from "./token-rules.js"
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
    const derivedHeaders = derived(tokens, mesh)
    const unsteadyClaims = unsteady(tokens)
    const frames = framesOf(tokens)
    const drafts = frames.map(frame => {
      const context = (side: number): ReadingContext => ({
        frame: seenBy(frame, this.sides[side]?.tokens ?? []),
        issuers: this.sides[side]?.program.authorization.issuers.enforced ?? new Set(),
        space: this.space,
        derivedHeaders,
        unsteadyClaims,
        budget,
      })
      budget?.checkTime()
      for (const rule of asked) readRule(rule, context(0))
      const read = concerns(context) ? sides : []
      const stages = read.map((side, index) => {
        budget?.checkTime()
        return stagesOf(side, context(index))
      })
      return { frame, context, stages }
    })
    // Known only once every rule has named the claims it looks at.
    const impossible = this.space.impossible()
    this.rounds = drafts.map(draft => ({ ...draft, given: this.#given(draft.frame, impossible) }))
    this.gap = severalTokens(sides, asked)
  }

  #given({ token }: Frame, impossible: readonly Region[]): Problem {
    if (token === "none") return { needs: [], bans: [] }
    if (token !== "preflight") return { needs: [], bans: impossible }
    const options = { dimension: this.space.method, negated: false, marks: [exactMark("OPTIONS")] }
    return { needs: [[region(options)]], bans: [] }
  }
}

/** Headers that carry tokens, that tokens write, or that say who the client is. */
function derived(tokens: readonly ProofTokenRule[], mesh: MeshConfig): ReadonlySet<string> {
  const names = tokens.flatMap(({ outputs, locations }) => [
    ...outputs,
    ...locations.map(({ kind, name }) => (kind === "header" ? name : "cookie")),
  ])
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
 * The search knows requests with one token. That is exact where a second one changes nothing: the sides have the same
 * token rules or look at no claim, no place is seen in two ways, and what must be there is wherever a token may be.
 */
function severalTokens(sides: readonly PolicySide[], asked: readonly CompiledRule[]): string | undefined {
  for (const { tokens } of sides) {
    const places = new Set(tokens.flatMap(({ locations }) => locations.map(({ kind, name }) => `${kind} ${name}`)))
    const all = new Set(tokens.flatMap(({ locations }) => locations.map(location => JSON.stringify(location))))
    if (places.size < all.size) return "two token rules read one header in different ways"
    const partial = tokens.some(({ required, locations }) => required && locations.length < all.size)
    if (partial) return "a token is required in one place while others are accepted elsewhere"
  }
  const [first, ...others] = sides
  const ids = (side: PolicySide | undefined) => JSON.stringify(side?.tokens.map(({ id }) => id))
  if (others.every(side => ids(side) === ids(first)) || !looksAtTokens(sides, asked)) return undefined
  return "token rules differ, and of two tokens in one request another one may count"
}

function looksAtTokens(sides: readonly PolicySide[], asked: readonly CompiledRule[]): boolean {
  return [...asked, ...sides.flatMap(({ http }) => [...http.deny, ...http.allow])].some(({ from, to, when }) =>
    [...from, ...to, when].some(clause => clause.some(({ attribute }) => attribute.name.startsWith("request.auth."))),
  )
}
