// SPDX-License-Identifier: Apache-2.0
// The proofs of one answer: for each problem that would contradict it, by name, why it has no solution. A problem can
// be proved by cases, one for each region of a need.

import type { MeshConfig } from "../../mesh/config.js"
import type { PolicyDocument } from "../../resources/document.js"
import { Arena, type Round } from "../arena.js"
import { type Frame, readsLocation } from "../frame.js"
import type { Outcome, Stages } from "../outcome.js"
import { type PolicySide, policySide } from "../policy-side.js"
import { isRuleRegion } from "../read-rules.js"
import type { Region } from "../search/formula.js"
import { type Refutation, RefutationLog, type Room } from "../search/refutation-log.js"
import { locationId } from "../token-rules.js"
import type { ProofWorkload } from "../workload.js"
import { sameDocuments } from "./digest.js"

/** Describes a request that would solve the problem. */
export interface ProblemRef {
  readonly frame: Frame
  readonly from?: Outcome
  readonly to: Outcome
  /** The position of the problem among those of the outcomes. */
  readonly at: readonly number[]
}

/** The need that contains the region, in a proof by cases. */
export interface CaseRef {
  readonly need: number
  readonly region: Region
}

interface Entry {
  readonly problem: ProblemRef
  readonly need?: number
  readonly proofs: Map<string, Refutation>
}

const WHOLE = ""
const MIB = 1024 * 1024
const MAX_PROOFS = 64 * MIB

export class Proofs {
  /** Why a certificate cannot express the proof; undefined if it can. */
  gap: string | undefined
  readonly #entries = new Map<string, Entry>()
  readonly #room: Room
  #label: { readonly round: Round; readonly labels: ReadonlyMap<string, string> } | undefined

  /** `unfollowed`: an attribute that prevents a certificate from showing how a request is decided. */
  constructor(
    gap: string | undefined,
    readonly unfollowed?: string | undefined,
    readonly maxCharacters = MAX_PROOFS,
  ) {
    this.gap = gap
    this.#room = { characters: maxCharacters }
  }

  /** The log for searching a problem of this round. */
  log(round: Round): RefutationLog {
    return new RefutationLog(region => this.#labelOf(region, round), this.#room)
  }

  add(
    problem: ProblemRef,
    round: Round,
    sides: readonly PolicySide[],
    one: CaseRef | undefined,
    log: Refutation,
  ): void {
    if (this.#room.characters < 0)
      this.gap ??= `its proofs are longer than ${this.maxCharacters / MIB} MiB, which is the limit`
    const name = nameOf(problem, sides)
    const entry = this.#entries.get(name) ?? { problem, proofs: new Map(), ...(one && { need: one.need }) }
    entry.proofs.set(one === undefined ? WHOLE : this.#labelOf(one.region, round), log)
    this.#entries.set(name, entry)
  }

  /**
   * If both sides have the same rules in different words, the checker follows that only as far as its token model goes.
   */
  sameRules(
    before: readonly PolicyDocument[],
    after: readonly PolicyDocument[],
    workload: ProofWorkload,
    mesh: MeshConfig,
  ): void {
    if (sameDocuments(before, after)) return
    const sides = [before, after].map(set => policySide(set, workload, mesh, "enforced", () => false))
    const arena = new Arena(sides, workload, mesh)
    this.gap ??= arena.gap
    this.rounds(arena)
  }

  /** Records that a certificate cannot express the proof if the comparison has requests with two tokens. */
  rounds({ hasPairs }: Arena): void {
    if (hasPairs) this.gap ??= "it rests on requests with two tokens, which certificates do not have"
  }

  json(counts: (problem: ProblemRef) => boolean): string {
    const counted = [...this.#entries].filter(([, { problem }]) => counts(problem)).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${counted.map(([name, entry]) => `${JSON.stringify(name)}:${entryJson(entry)}`).join()}}`
  }

  /** The label of the region's rule; any of them if several rules are equivalent. */
  #labelOf(region: Region, round: Round): string {
    if (this.#label?.round !== round) this.#label = { round, labels: labelsOf(round.stages) }
    const [given] = round.given.needs.flat()
    const other = region === given ? "given" : isRuleRegion(region) ? "question" : undefined
    const label = this.#label.labels.get(region.key) ?? other
    if (label === undefined) this.gap ??= "it rests on claims that lie in other claims, which certificates do not have"
    return label ?? ""
  }
}

function entryJson({ need, proofs }: Entry): string {
  if (need === undefined) return proofJson(proofs.get(WHOLE) ?? { covered: [], nodes: [] })
  const cases = [...proofs].sort(([a], [b]) => (a < b ? -1 : 1))
  const spelled = cases.map(([label, proof]) => `${JSON.stringify(label)}:${proofJson(proof)}`)
  return `{"cases":{${spelled.join()}},"need":${need}}`
}

const proofJson = ({ covered, nodes }: Refutation): string =>
  `{"covered":${JSON.stringify(covered)},"nodes":[${nodes.join()}]}`

function nameOf({ frame, from, to, at }: ProblemRef, sides: readonly PolicySide[]): string {
  const { identity, protocol } = frame
  const kind = `${protocol} ${identity ? "mtls" : "plaintext"} ${tokenName(frame, sides)}`
  return from === undefined ? `${kind} ${to} ${at[0]}` : `${kind} ${from} ${at[0]} ${to} ${at[1]}`
}

/** The first, by spelling, of all locations where the same rules look for a token. */
function tokenName({ token }: Frame, sides: readonly PolicySide[]): string {
  if (typeof token === "string") return token
  const rules = sides.flatMap(side => side.tokens)
  const readers = (place: string) => rules.map(rule => readsLocation(rule, place)).join()
  const places = rules.flatMap(({ locations }) => locations.map(locationId))
  const [first = token.at] = places.filter(place => readers(place) === readers(token.at)).sort()
  return first
}

function labelsOf(sides: readonly Stages[]): ReadonlyMap<string, string> {
  const labels = new Map<string, string>()
  const put = (region: Region, label: string): void => {
    if (!labels.has(region.key)) labels.set(region.key, label)
  }
  for (const [side, { transport, missing, good = [], deny, allow }] of sides.entries()) {
    for (const region of transport) put(region, `${side} mode`)
    for (const region of missing) put(region, `${side} missing`)
    for (const region of good) put(region, `${side} token ${region.token}`)
    for (const region of [...deny, ...allow]) {
      if (isRuleRegion(region))
        put(region, `${side} ${region.ref.policy.namespace}/${region.ref.policy.name}[${region.ref.rule}]`)
    }
  }
  return labels
}
