// SPDX-License-Identifier: Apache-2.0
// Evaluates several sets of policies in one shared space, one frame at a time, with the stages of each set. It also
// reports what the search cannot model exactly, so that a missing finding is never mistaken for a proof.

import type { CompiledRule } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import { isOwnHeader } from "../resources/header-name.js"
import type { Budget } from "./budget.js"
import { type Frame, framesOf, seenBy } from "./frame.js"
import { type Stages, stagesOf } from "./outcome.js"
import type { PolicySide } from "./policy-side.js"
import { exactMark, type ReadingContext } from "./read-criterion.js"
import { readRule } from "./read-rule.js"
import { tokensKey } from "./same-side.js"
import { joined, type Problem, type Region, region } from "./search/formula.js"
import { headerOf, headersRead } from "./seen-headers.js"
import { Space } from "./space.js"
import type { TokenPair } from "./token-pair.js"
import { tokenPairs } from "./token-pairs.js"
import { locationId, type ProofTokenRule } from "./token-rules.js"
import { hostOf, type ProofWorkload } from "./workload.js"

export interface Round {
  readonly frame: Frame
  /** The stages of each side, in order; empty if the frame cannot contain what the question asks for. */
  readonly stages: readonly Stages[]
  /** What holds for every request of this frame, and what for none: part of every problem of this round. */
  readonly given: Problem
  context(side: number): ReadingContext
}

export class Arena {
  readonly space: Space
  readonly rounds: readonly Round[]
  /** Why the absence of a difference proves nothing; undefined if it is a proof. */
  readonly gap: string | undefined
  /** Whether the rounds include requests with two tokens. */
  readonly hasPairs: boolean

  constructor(
    readonly sides: readonly PolicySide[],
    readonly workload: ProofWorkload,
    mesh: MeshConfig,
    /** Rules of the question itself: their claims and headers are part of the space too. */
    asked: readonly CompiledRule[] = [],
    budget?: Budget,
    /** Whether a frame can contain what the question asks for; if not, its rules are not read. */
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
    const common = (side: number) => ({
      issuers: this.sides[side]?.program.authorization.issuers.enforced ?? new Set<string>(),
      space: this.space,
      derivedHeaders,
      budget,
    })
    const edited = new Set([...read].filter(name => sides.some(({ headers }) => headers.isEdited(name))))
    const inPairs = matterInPairs(sides, rules, read, edited)
    const pairs = inPairs ? tokenPairs(sides, this.space, edited.size > 0, budget, mesh.dialect) : []
    const several = { open: openToTwo(sides, edited, mesh), common }
    // If requests with two tokens have rounds of their own, the other rounds are about a single token.
    const single = { open: inPairs ? writtenTwice(sides, edited) : NO_HEADERS, isSole: inPairs && pairs !== undefined }
    const drafts = frames.map(frame => {
      const context = (side: number): ReadingContext => {
        const view = views.of(side, frame)
        return {
          ...common(side),
          ...view,
          token: this.space.token,
          tokensAt: single.isSole && typeof frame.token !== "string" ? [frame.token.at] : undefined,
          openHeaders: single.open,
          view: single.open.size === 0 ? view.view : JSON.stringify([side, view.view]),
        }
      }
      budget?.checkTime()
      for (const rule of asked) readRule(rule, context(0))
      const stages = (concerns(context) ? sides : []).map((side, index) => {
        budget?.checkTime()
        return stagesOf(side, context(index))
      })
      return { frame, context, stages }
    })
    // Known only after every rule has named the claims that it reads.
    const impossible = this.space.token.impossible()
    const rounds = drafts.map(draft => ({ ...draft, given: this.#given(draft.frame, impossible) }))
    this.rounds = [...rounds, ...(pairs ?? []).flatMap(pair => this.#roundsOf(pair, several))]
    this.hasPairs = inPairs
    this.gap = unmodelledTokens(sides, mesh) ?? (pairs === undefined ? TOO_MANY_TOKENS : undefined)
  }

  /** The rounds of requests with two tokens, as each side sees them. */
  #roundsOf({ places: [at, second], given, verdicts }: TokenPair, { open, common }: SeveralTokens): readonly Round[] {
    const { space } = this
    const impossible = () => [...space.token.impossible(), ...space.secondToken.impossible()]
    return [true, false].map(identity => {
      const frame: Frame = { identity, protocol: "http", token: { at, second } }
      const context = (side: number): ReadingContext => {
        const of = this.sides[side]
        const verdict = verdicts[side]
        if (of === undefined || verdict === undefined) throw new RangeError(`there is no side ${side}`)
        const seen = verdict === "unauthenticated" ? undefined : verdict.identity
        return {
          ...common(side),
          frame: { ...frame, token: seen === undefined ? "none" : { at: seen === 0 ? at : second } },
          token: seen === 1 ? space.secondToken : space.token,
          headers: of.headers,
          tokensAt: [at, second],
          openHeaders: open,
          // A value that depends on a token may differ between the sides.
          unsteadyClaims: unsteady(this.sides.flatMap(({ tokens }) => tokens)),
          view: JSON.stringify(["two tokens", side, seen ?? "none"]),
        }
      }
      const stages = this.sides.map((side, index): Stages => {
        const all = stagesOf(side, context(index))
        const authenticated = { ...all, missing: [], good: undefined }
        return verdicts[index] === "unauthenticated" ? { ...authenticated, ...REJECTED } : authenticated
      })
      return { frame, context, stages, given: joined(given, { needs: [], bans: impossible() }) }
    })
  }

  #given({ token }: Frame, impossible: readonly Region[]): Problem {
    if (token === "none") return { needs: [], bans: [] }
    if (token !== "preflight") return { needs: [], bans: impossible }
    const options = { dimension: this.space.method, negated: false, marks: [exactMark("OPTIONS")] }
    return { needs: [[region(options)]], bans: [] }
  }
}

interface SeveralTokens {
  /** Headers whose value is unknown: each side may see any value. */
  readonly open: ReadonlySet<string>
  readonly common: (side: number) => Pick<ReadingContext, "issuers" | "space" | "derivedHeaders" | "budget">
}

/** How each side sees the headers that token rules change. */
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

/** Headers that carry tokens or identify the client: their values are not independent of the frame. */
function derived(tokens: readonly ProofTokenRule[], mesh: MeshConfig): ReadonlySet<string> {
  const names = tokens.flatMap(({ locations }) => locations.map(headerOf))
  if (mesh.numTrustedProxies > 0) names.push("x-forwarded-for")
  // These headers make a request a preflight, which matters only if tokens are read.
  if (tokens.length > 0) names.push("origin", "access-control-request-method")
  return new Set(names)
}

/** Claims that one rule splits at blanks and another does not. */
function unsteady(tokens: readonly ProofTokenRule[]): ReadonlySet<string> {
  const all = new Set(tokens.flatMap(({ delimited }) => [...delimited]))
  return new Set([...all].filter(name => !tokens.every(({ delimited }) => delimited.has(name))))
}

/** Which tokens are not modelled, even in requests with one; undefined if all are. */
function unmodelledTokens(sides: readonly PolicySide[], { dialect }: MeshConfig): string | undefined {
  const locations = sides.flatMap(({ tokens }) => tokens.flatMap(rule => rule.locations))
  const places = new Set(locations.map(({ kind, name }) => `${kind} ${name}`))
  const all = new Set(locations.map(locationId))
  // A cookie with a token is part of a header that a rule may read as a whole.
  const isCookieWhole = places.has("header cookie") && locations.some(({ kind }) => kind === "cookie")
  if (places.size < all.size || isCookieWhole) return "two token rules read one header in different ways"
  if (dialect === "istio" && locations.some(one => isOwnHeader(headerOf(one))))
    return "a token is read from a header that the proxy writes"
  for (const { tokens } of sides) {
    const own = new Set(tokens.flatMap(rule => rule.locations.map(locationId)))
    const partial = tokens.some(({ required, locations: where }) => required && where.length < own.size)
    if (partial) return "a token is required in one place while others are accepted elsewhere"
  }
  return undefined
}

const TOO_MANY_TOKENS = "more token rules change than two tokens in one request are modelled for"

/**
 * A second token changes nothing if the sides accept the same tokens and edit the headers that rules read in the same
 * way. It also changes nothing if no rule reads anything that depends on a token and none is required.
 */
function matterInPairs(
  sides: readonly PolicySide[],
  rules: readonly CompiledRule[],
  read: ReadonlySet<string>,
  edited: ReadonlySet<string>,
): boolean {
  const [first, ...others] = sides
  if (first === undefined || others.every(side => tokensKey(side, read) === tokensKey(first, read))) return false
  const isRequired = sides.some(({ tokens }) => tokens.some(({ required }) => required))
  return isRequired || looksAtClaims(rules) || edited.size > 0
}

/** Headers that the two sides write differently: one token may give them different values. */
function writtenTwice(sides: readonly PolicySide[], edited: ReadonlySet<string>): ReadonlySet<string> {
  const differs = (name: string) => new Set(sides.map(({ headers }) => headers.treatment(name))).size > 1
  const isTwice = (name: string) => sides.filter(({ headers }) => headers.writes(name)).length > 1
  return new Set([...edited].filter(name => differs(name) && isTwice(name)))
}

/**
 * Headers that are not modelled in requests with two tokens. A single header of sides that accept the same tokens is
 * modelled: its value depends only on whether there is a token, or is written from one token on one side.
 */
function openToTwo(
  sides: readonly PolicySide[],
  edited: ReadonlySet<string>,
  { dialect }: MeshConfig,
): ReadonlySet<string> {
  // With several rules, both tokens determine which rule decides.
  if (dialect === "istio" && sides.some(({ tokens }) => tokens.length > 1)) return edited
  const [name, ...others] = edited
  const acceptances = new Set(sides.map(({ tokens }) => JSON.stringify(tokens.map(({ acceptance }) => acceptance))))
  if (name === undefined || others.length > 0 || acceptances.size > 1 || writtenTwice(sides, edited).size > 0)
    return edited
  return sides.every(({ headers }) => headers.forwardsAlike(name)) ? NO_HEADERS : edited
}

const NO_HEADERS: ReadonlySet<string> = new Set()
/** No token is valid, so no rule is evaluated. */
const REJECTED = { good: [], deny: [], allow: [], custom: [], closed: false } as const

function looksAtClaims(rules: readonly CompiledRule[]): boolean {
  return rules.some(({ from, to, when }) =>
    [...from, ...to, when].some(clause => clause.some(({ attribute }) => attribute.name.startsWith("request.auth."))),
  )
}
