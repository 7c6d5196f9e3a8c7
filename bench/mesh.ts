// SPDX-License-Identifier: Apache-2.0
// The cost of a request from a caller through its proxy and the server's proxy to the application, with mTLS between
// the proxies: CPU of both proxies, added latency, and memory, compared with pairs of other proxies in the same run.

import { rmSync } from "node:fs"
import { join } from "node:path"
import { nodeFolder } from "../scripts/node-binaries.js"
import { option, requireSchedstat, shown, table } from "./measure.js"
import { envoyPair } from "./mesh/envoy.js"
import { goals } from "./mesh/goals.js"
import { haproxyPair } from "./mesh/haproxy.js"
import { merlonOn } from "./mesh/merlon.js"
import { type Pair, startDirect, startPair } from "./mesh/pairs.js"
import { endSites, IS_CAPTURED } from "./mesh/site.js"
import type { Scenario } from "./mesh/work.js"
import { CONNECTIONS } from "./proxy/call.js"
import { PACED_PER_SECOND } from "./proxy/goals.js"
import { makeMaterial } from "./proxy/material.js"
import { RECOMMENDED_NODE } from "./proxy/peers.js"
import { type Entry, type Failure, measureAlternating, type Row, toPeer } from "./proxy/rounds.js"

const PACE = `${PACED_PER_SECOND.toLocaleString("en")}/s`
const WORK: readonly Omit<Scenario, "token">[] = [
  { name: "HTTP/1.1", protocol: "http/1.1", path: "/" },
  { name: "HTTP/1.1, 1 KB", protocol: "http/1.1", path: "/1k" },
  { name: "HTTP/2", protocol: "http/2", path: "/" },
  { name: "gRPC", protocol: "grpc", path: "/echo.Echo/Say" },
  { name: "100 KB", protocol: "http/1.1", path: "/100k" },
  { name: `HTTP/1.1, ${PACE}`, protocol: "http/1.1", path: "/", perSecond: PACED_PER_SECOND },
  { name: `one process, ${PACE}`, protocol: "http/1.1", path: "/", perSecond: PACED_PER_SECOND, together: true },
]
const SCENARIOS: readonly Scenario[] = WORK.flatMap(work => [
  { ...work, token: false },
  { ...work, name: `${work.name}, token`, token: true },
])

const DIRECT = "direct"
const recommended = nodeFolder(RECOMMENDED_NODE)
const RECOMMENDED = `merlond, Node ${RECOMMENDED_NODE}`
const OURS: readonly Pair[] = [
  merlonOn("merlond", "node"),
  merlonOn(RECOMMENDED, recommended && join(recommended, "node")),
]
const PAIRS: readonly Pair[] = [...OURS, envoyPair, haproxyPair]
const NOTES: readonly string[] = [
  IS_CAPTURED
    ? "Calls are captured: `merlond capture` redirects them in a network namespace, for every pair alike."
    : "Calls are not captured (that needs root, ip, nft and setpriv): merlond is called by `http_proxy`, over HTTP/1.1 alone, and the others directly.",
  "merlond speaks HTTP/2 between its proxies. Envoy (as Istio by default) and HAProxy speak what the program speaks.",
  "All demand certificates on both sides. merlond and Envoy check who the other is, and allow one principal; HAProxy cannot.",
]

interface CompleteRow extends Row {
  readonly addedP50Ms: number
  readonly addedP99Ms: number
  readonly toEnvoy: number
  readonly toHaproxy: number
}

requireSchedstat("bench:mesh")
const SECONDS = Number(option("seconds") ?? 5)
const only = option("only")
const absent = PAIRS.filter(({ program }) => program === undefined).map(({ name }) => name)
const material = await makeMaterial()
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => void endSites().finally(() => process.exit(1)))
}
const isJson = process.argv.includes("--json")
const rows: CompleteRow[] = []
const failures: Failure[] = []
try {
  for (const scenario of SCENARIOS) {
    if (only !== undefined && !scenario.name.includes(only)) continue
    const measured = await measureAlternating(entriesOf(scenario), SECONDS)
    const complete = completed(measured.rows)
    rows.push(...complete)
    failures.push(...measured.failures)
    print(`${tableOf(complete)}\n`)
    for (const { proxy, why } of measured.failures) print(`${scenario.name}, ${proxy}: not measured: ${why}`)
  }
} finally {
  rmSync(material.folder, { recursive: true })
}
report()

/**
 * Prints figures as soon as they are known, because a whole run takes most of an hour. With `--json`, standard output
 * is only for the one object.
 */
function print(text: string): void {
  if (isJson) console.error(text)
  else console.log(text)
}

function entriesOf(scenario: Scenario): readonly Entry[] {
  const { name } = scenario
  const pairs = PAIRS.filter(pair => pair.program !== undefined && pair.can(scenario))
  return [
    { scenario: name, proxy: DIRECT, start: () => startDirect(scenario, material) },
    ...pairs.map(pair => ({
      scenario: name,
      proxy: pair.name,
      start: () => startPair(pair, scenario, material),
    })),
  ]
}

/** The rows of one scenario, with figures relative to the other rows. */
function completed(measured: readonly Row[]): readonly CompleteRow[] {
  const found = (proxy: string): Row | undefined => measured.find(row => row.proxy === proxy)
  const direct = found(DIRECT)
  return measured.map(row => {
    const added = (of: (row: Row) => number): number =>
      direct === undefined ? Number.NaN : Number((of(row) - of(direct)).toFixed(3))
    return {
      ...row,
      addedP50Ms: added(({ p50Ms }) => p50Ms),
      addedP99Ms: added(({ p99Ms }) => p99Ms),
      toEnvoy: toPeer(row, found("Envoy")),
      toHaproxy: toPeer(row, found("HAProxy")),
    }
  })
}

function tableOf(complete: readonly CompleteRow[]): string {
  const ratio = (figure: number): string => (Number.isNaN(figure) ? "" : shown(figure))
  return table(
    [
      "work",
      "pair",
      "CPU µs",
      "each",
      "to Envoy",
      "to HAProxy",
      "req/s",
      "added p50 ms",
      "added p99 ms",
      "MiB",
      "errors",
    ],
    complete.map(row => [
      row.scenario,
      row.proxy,
      row.cpuMicroseconds,
      row.processes.map(({ cpuMicroseconds }) => shown(cpuMicroseconds)).join(" + "),
      row.proxy === DIRECT ? "" : ratio(row.toEnvoy),
      row.proxy === DIRECT ? "" : ratio(row.toHaproxy),
      row.perSecond,
      row.proxy === DIRECT ? `(${row.p50Ms})` : row.addedP50Ms,
      row.proxy === DIRECT ? `(${row.p99Ms})` : row.addedP99Ms,
      row.processes.map(({ residentMiB }) => residentMiB).join(" + "),
      row.errors,
    ]),
  )
}

function report(): void {
  const stated = goals(
    SCENARIOS,
    rows,
    OURS.map(({ name }) => name),
    RECOMMENDED,
  )
  if (isJson) {
    const goalsMet = stated.map(goal => ({ ...goal, met: goal.figure <= goal.atMost }))
    const unit = "microseconds of CPU per request, of both proxies"
    const settings = { unit, captured: IS_CAPTURED, notes: NOTES, seconds: SECONDS, connections: CONNECTIONS }
    console.log(JSON.stringify({ ...settings, absent, failures, rows, goals: goalsMet }))
    return
  }
  console.log(`${NOTES.join("\n")}\n${DIRECT}: from the caller to the application, its latency in brackets.`)
  for (const name of absent) {
    const how =
      name === RECOMMENDED ? "npm has none for this machine" : `put it on PATH or name it in ${name.toUpperCase()}`
    console.log(`${name}: no such program here; ${how}`)
  }
  if (stated.length === 0) return
  console.log(
    `\n${table(
      ["goal", "figure", "at most", ""],
      stated.map(({ name, figure, atMost, unit }) => [
        name,
        `${shown(figure)} ${unit}`.trim(),
        `${shown(atMost)} ${unit}`.trim(),
        figure <= atMost ? "met" : "missed",
      ]),
    )}`,
  )
}
