// SPDX-License-Identifier: Apache-2.0
// What a certificate costs: the CPU time of an answer with its certificate, relative to the answer alone. Rounds with
// and without alternate, on new documents each time, because digests are computed once for each document.

import {
  type AuthorizationPolicy,
  Certificate,
  checkInvariants,
  deadRules,
  diffSets,
  meshConfig,
  type ObservedCall,
  type PolicyDocument,
  type PolicyInvariant,
  reachOf,
  suggestPolicies,
} from "@merlon/policy"
import { workload } from "../../packages/policy/src/authorization/testing/requests.js"

export interface CertificateCost {
  readonly question: string
  readonly rules: number
  /** Milliseconds of CPU, without and with the certificate. */
  readonly alone: number
  readonly certified: number
  /** The median over pairs of rounds. */
  readonly ratio: number
  readonly kibibytes: number
}

interface Asked {
  readonly question: string
  readonly rules: number
  readonly sets: readonly (readonly PolicyDocument[])[]
  readonly ask: (sets: readonly (readonly PolicyDocument[])[], record: Certificate | undefined) => unknown
}

const ROUNDS = 12
const mesh = meshConfig()
const options = { now: 1_000, limits: { steps: Number.MAX_SAFE_INTEGER } }

const invariant: PolicyInvariant = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PolicyInvariant",
  metadata: { name: "closed", namespace: "foo" },
  spec: { never: [{ name: "closed", to: [{ operation: { paths: ["/closed/*"], methods: ["DELETE"] } }] }] },
}

function callOf(n: number): ObservedCall {
  return {
    caller: `spiffe://cluster.local/ns/team-${n % 50}/sa/app-${n}`,
    workload: `${workload.namespace}/${workload.name}`,
    ...{ port: 8080, protocol: "http", method: "GET", path: `/v1/service-${n}/x`, tls: true },
    ...{ verdict: "allow", stage: "allow", firstSeen: 1_000, lastSeen: 2_000, count: 3 },
  }
}

/** `rulesOf(size)` are documents with so many rules, `changed` the same with one of them changed. */
export function certificateCosts(
  documents: (size: number) => readonly PolicyDocument[],
  changed: (size: number) => readonly PolicyDocument[],
): readonly CertificateCost[] {
  const calls = Array.from({ length: 80 }, (_, n) => callOf(n * 5))
  const wanted = { to: [{ operation: { paths: ["/v1/service-10/*"] } }] }
  const caller = { from: [{ source: { principals: ["cluster.local/ns/team-10/sa/app-10"] } }] }
  const all: readonly Asked[] = [
    {
      ...{ question: "diff", rules: 3_000, sets: [documents(3_000), changed(3_000)] },
      ask: ([before = [], after = []], comparisons) =>
        diffSets(before, after, [workload], mesh, { ...options, comparisons }),
    },
    ...Object.entries({ "who-can": wanted, "what-can": caller }).map(([question, asked]) => ({
      ...{ question, rules: 300, sets: [documents(300)] },
      ask: ([policies = []]: Asked["sets"], reaches: Certificate | undefined) =>
        reachOf(policies, workload, mesh, asked, { ...options, reaches }),
    })),
    {
      ...{ question: "invariants", rules: 300, sets: [[...documents(300), invariant]] },
      ask: ([policies = []], verdicts) =>
        checkInvariants(
          policies.filter(one => one.kind === "PolicyInvariant"),
          policies,
          [workload],
          mesh,
          { ...options, verdicts },
        ),
    },
    {
      ...{ question: "analyze (dead rules)", rules: 300, sets: [[...documents(300), duplicate()]] },
      ask: ([policies = []], unused) => deadRules(policies, [workload], mesh, { ...options, unused }),
    },
    {
      ...{ question: "suggest", rules: 200, sets: [documents(200)] },
      ask: ([policies = []], suggestions) =>
        suggestPolicies(calls, policies, [{ ...workload, ports: [8080] }], mesh, { ...options, suggestions }),
    },
  ]
  return all.map(costOf)
}

/** A rule that another one makes dead. */
function duplicate(): AuthorizationPolicy {
  const path = "/v1/service-10/a"
  const principals = ["cluster.local/ns/team-10/sa/app-10"]
  return {
    ...invariant,
    kind: "AuthorizationPolicy",
    spec: { rules: [{ from: [{ source: { principals } }], to: [{ operation: { methods: ["GET"], paths: [path] } }] }] },
  }
}

function costOf({ question, rules, sets, ask }: Asked): CertificateCost {
  const [alone, certified, ratios]: [number[], number[], number[]] = [[], [], []]
  let size = 0
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    const [own, others] = [structuredClone(sets), structuredClone(sets)]
    const answer = () => ask(own, undefined)
    const write = () => {
      size = 0
      const certificate = new Certificate(part => {
        size += part.length
      })
      ask(others, certificate)
      certificate.end(others, mesh)
    }
    // Whichever is second runs warmer code.
    const isFirst = round % 2 === 0
    const [first, second] = isFirst ? [cpu(answer), cpu(write)] : [cpu(write), cpu(answer)]
    if (round === 0) continue
    const [without, withIt] = isFirst ? [first, second] : [second, first]
    alone.push(without)
    certified.push(withIt)
    ratios.push(withIt / without)
  }
  return {
    ...{ question, rules, alone: Math.round(median(alone)), certified: Math.round(median(certified)) },
    ratio: Number(median(ratios).toFixed(2)),
    kibibytes: Math.round(size / 1_024),
  }
}

function cpu(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
