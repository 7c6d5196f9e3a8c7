// SPDX-License-Identifier: Apache-2.0
// The goals for the figures, so that a run reports whether they are met.

import { NEWEST_NODES, nameOn, RECOMMENDED_NODE } from "./peers.js"
import type { Readiness } from "./ready.js"
import { type Row, toPeer } from "./rounds.js"

export interface Goal {
  readonly name: string
  readonly figure: number
  readonly atMost: number
  readonly unit: string
}

/** xserver on the version of Node that runs this, and on the newest ones. */
const OURS: readonly string[] = ["xserver", ...NEWEST_NODES.map(nameOn)]

/** CPU per request relative to HAProxy doing the same. */
const TO_HAPROXY: readonly (readonly [scenario: string, atMost: number])[] = [
  ["plain", 1.5],
  ["plain, 100 KB", 1.3],
  ["JWT, 1 token", 0.5],
  ["JWT, 100 tokens", 0.5],
  ["JWT, 10,000 tokens", 0.5],
  ["mTLS", 1.5],
  ["mTLS with JWT", 0.8],
  ["HTTP/2", 1.5],
  ["HTTP/2, 100 KB", 1.3],
  ["HTTP/2, mTLS", 1.5],
  ["gRPC", 1.5],
]
/**
 * The same for xserver on the recommended version of Node: handshakes are OpenSSL's, and each version of Node includes
 * its own.
 */
const ON_RECOMMENDED: readonly (readonly [scenario: string, atMost: number])[] = [
  ["full handshakes", 1.3],
  ["resumed handshakes", 1],
]
/** CPU per request relative to Envoy doing the same. */
const TO_ENVOY: readonly (readonly [scenario: string, atMost: number])[] = [
  ["HTTP/2", 0.5],
  ["HTTP/2, mTLS", 0.5],
  ["gRPC", 0.5],
  ["plain, 100 KB", 0.8],
  ["HTTP/2, 100 KB", 0.8],
]
const TO_NODE_HTTP = 0.3
const READY_MS = 400
export const PACED_PER_SECOND = 1_000
const PACED_MIB = 80
/** Share of the CPU of a request. */
const LEDGER_SHARE = 0.02
/** Two runs of the same work differ by this much. */
const FLAT = 1.1

/** Returns the goals for which the run has figures. */
export function goals(
  rows: readonly Row[],
  paced: string,
  ready: Readiness | undefined,
  countingNs: number | undefined,
): readonly Goal[] {
  const found: Goal[] = []
  const row = (scenario: string, proxy = "xserver"): Row | undefined =>
    rows.find(each => each.scenario === scenario && each.proxy === proxy)
  const compare = (name: string, ours: Row | undefined, theirs: Row | undefined, atMost: number): void => {
    if (ours === undefined || theirs === undefined) return
    found.push({ name, figure: toPeer(ours, theirs), atMost, unit: "" })
  }
  const beside = (peer: string, [scenario, atMost]: readonly [string, number], ours: readonly string[]): void => {
    for (const proxy of ours) {
      compare(`${scenario}: CPU of ${proxy} to ${peer}`, row(scenario, proxy), row(scenario, peer), atMost)
    }
  }
  for (const goal of TO_HAPROXY) beside("HAProxy", goal, OURS)
  for (const goal of ON_RECOMMENDED) beside("HAProxy", goal, [nameOn(RECOMMENDED_NODE)])
  for (const goal of TO_ENVOY) beside("Envoy", goal, OURS)
  // Far below its maximum rate, a proxy's cost is mostly that of waking up.
  for (const { scenario } of rows.filter(each => each.proxy === "node:http" && each.scenario !== paced)) {
    compare(`${scenario}: CPU to node:http`, row(scenario), row(scenario, "node:http"), TO_NODE_HTTP)
  }
  compare("10,000 rules: CPU to 10 rules", row("JWT, 10,000 rules"), row("JWT, 10 rules"), FLAT)
  for (const proxy of OURS) {
    const resident = row(paced, proxy)?.residentMiB
    if (resident === undefined) continue
    found.push({ name: `${paced}: ${proxy}, resident`, figure: resident, atMost: PACED_MIB, unit: "MiB" })
  }
  // Counting cannot be switched off, so its own cost is compared with the whole: that of the cheapest request, and with
  // a new path each time, so that the share is the largest that applications see.
  const plain = row("plain")
  if (plain !== undefined && countingNs !== undefined) {
    const figure = Number((countingNs / 1_000 / plain.cpuMicroseconds).toPrecision(2))
    const name = "plain: counting for the ledger, measured by itself, of all CPU"
    found.push({ name, figure, atMost: LEDGER_SHARE, unit: "" })
  }
  if (ready !== undefined) {
    found.push({ name: "ready with state on disk", figure: ready.wallMs, atMost: READY_MS, unit: "ms" })
  }
  return found
}
