// SPDX-License-Identifier: Apache-2.0
// Answers users' queries about current or proposed policies in the proof thread, from its copy of the cluster.

import { analysis, suggestPolicies } from "@merlon/policy/analysis"
import type { MeshConfig } from "@merlon/policy/mesh"
import {
  callersAmong,
  DocumentsByNamespace,
  diffSets,
  type Limits,
  lastingName,
  type ProofWorkload,
  reachOf,
} from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { RequestDescriptionError, smallestChange, summaryOf, Trial } from "@merlon/policy/trial"
import type { UserAnswer, UserQuery } from "./question.js"
import { touchedCalls } from "./touched-calls.js"

export interface QueryScope {
  /** The stored policies. */
  readonly before: readonly PolicyDocument[]
  /** The policies after the proposed change. */
  readonly after: readonly PolicyDocument[]
  readonly workloads: readonly ProofWorkload[]
  readonly mesh: MeshConfig
  readonly limits: Limits
  readonly isEnded: () => boolean
  /** Seconds since the epoch. */
  readonly now: number
}

export function askPolicies(question: UserQuery, about: QueryScope): UserAnswer {
  const { namespace, what } = question
  const workloads = about.workloads.filter(one => namespace === undefined || one.namespace === namespace)
  const workload = workloads.find(one => keyOf(one) === question.workload)
  switch (what) {
    case "diffs":
      return { answer: diff(workloads, question, about) }
    case "analyses":
      return { answer: findings(namespace, about) }
    case "reach":
      return { answer: querySpec(workloads, { from: [{ source: { principals: [question.principal ?? ""] } }] }, about) }
    case "callers":
      return workload === undefined ? GONE : { answer: querySpec([workload], question.operation ?? {}, about) }
    case "suggestions":
      return workload === undefined ? GONE : suggested(workload, question, about)
    case "explanations":
      return workload === undefined ? GONE : explained(workload, question, about)
    default:
      return what satisfies never
  }
}

const GONE: UserAnswer = { error: "the workload is gone" }

function diff(workloads: readonly ProofWorkload[], question: UserQuery, about: QueryScope): object {
  const { calls = [], callsLeftOut = 0 } = question
  const { before, after, mesh, limits, now } = about
  const { result, groups } = diffSets(before, after, workloads, mesh, {
    limits,
    now,
    callers: callersAmong(workloads, mesh),
  })
  const mayChange = groups.filter(
    ({ comparison: { changes, undecided } }) => changes.length > 0 || undecided !== undefined,
  )
  const touched = touchedCalls(
    calls,
    mayChange.flatMap(group => group.workloads),
    about,
  )
  return {
    // Without a workload, nothing is proved.
    result: workloads.length === 0 ? "undecided" : result,
    read: { policies: after.length, workloads: workloads.length },
    groups: groups.map(({ workloads: alike, comparison }) => ({ ...comparison, workloads: alike.map(keyOf) })),
    touched: { ...touched, untried: touched.untried + callsLeftOut },
  }
}

function querySpec(workloads: readonly ProofWorkload[], asked: object, about: QueryScope): object {
  const { after, mesh, limits, now, isEnded } = about
  const selection = new DocumentsByNamespace(after, mesh)
  const options = { limits, now, callers: callersAmong(workloads, mesh) }
  const reached = workloads.map(workload => ({
    workload: keyOf(workload),
    // Preparing a thousand workloads takes time too, which the limits of a single search do not cover.
    reach: isEnded()
      ? { ways: [], undecided: "the time limit was reached before it was analyzed" }
      : reachOf(selection.selected(workload).documents, workload, mesh, asked, options),
  }))
  return {
    // Without a workload, nothing is proved.
    result: reached.length === 0 || reached.some(({ reach }) => reach.undecided !== undefined) ? "undecided" : "proved",
    read: { policies: after.length, workloads: workloads.length },
    ways: reached.flatMap(({ workload, reach }) =>
      reach.ways.map(({ rule, ...way }) => ({
        workload,
        ...way,
        ...(rule === undefined ? {} : { policy: `${rule.policy.namespace}/${rule.policy.name}`, rule: rule.rule }),
      })),
    ),
    undecided: reached.flatMap(({ workload, reach: { undecided } }) =>
      undecided === undefined ? [] : [{ workload, reason: undecided }],
    ),
  }
}

function findings(namespace: string | undefined, { after, workloads, mesh, isEnded }: QueryScope): object {
  const turns = analysis(after, mesh, { workloads })
  for (;;) {
    if (isEnded()) return { complete: false, findings: [] }
    const { done, value } = turns.next()
    if (!done) continue
    return { complete: true, findings: value.filter(one => namespace === undefined || one.namespace === namespace) }
  }
}

/** Suggests policies for one workload. The others are included so that its selector selects none of them. */
function suggested(workload: ProofWorkload, { calls = [] }: UserQuery, about: QueryScope): UserAnswer {
  const { after, workloads, mesh, limits, now } = about
  const others = workloads.filter(one => keyOf(one) !== keyOf(workload))
  const [found] = suggestPolicies(calls, after, [workload, ...others], mesh, { limits, now })
  if (found === undefined) return { error: "no allowed calls observed for it yet, so there is nothing to suggest" }
  const { evidence, workload: _, ...suggestion } = found
  const time = (at: number): string => new Date(at).toISOString()
  return {
    answer: {
      workload: lastingName(workload),
      ...suggestion,
      evidence: { ...evidence, firstSeen: time(evidence.firstSeen), lastSeen: time(evidence.lastSeen) },
    },
  }
}

function explained(workload: ProofWorkload, { request = {} }: UserQuery, about: QueryScope): UserAnswer {
  const { after: documents, mesh, now } = about
  const [port] = workload.ports ?? []
  const asked = { ...(port === undefined ? {} : { port }), ...request }
  try {
    const answer = new Trial(documents, workload, mesh, now).ask(asked)
    const change =
      answer.verdict === "allow" ? undefined : smallestChange({ documents, workload, mesh, now, asked }, answer)
    return {
      answer: {
        ...summaryOf(answer),
        change: change?.map(({ rule, ...edit }) => ({
          ...edit,
          policy: `${rule.policy.namespace}/${rule.policy.name}`,
        })),
      },
    }
  } catch (error) {
    if (error instanceof RequestDescriptionError) return { error: error.message }
    throw error
  }
}

function keyOf({ namespace, name }: ProofWorkload): string {
  return `${namespace}/${name}`
}
