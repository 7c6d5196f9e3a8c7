// SPDX-License-Identifier: Apache-2.0
// The cost of a request in each proxy: CPU, throughput, latency and memory, for the same work in the same run, one
// thread each, in turns. Compare CPU per request; the other figures depend on what else the machine is doing.

import { rmSync, writeFileSync } from "node:fs"
import { messageOf } from "@merlon/xds/runtime"
import { option, requireSchedstat, shown, table } from "./measure.js"
import { startApplication } from "./proxy/application.js"
import { CONNECTIONS, callerOf, type Scenario } from "./proxy/call.js"
import { chart } from "./proxy/chart.js"
import { countingNanoseconds, NEW_EACH_TIME } from "./proxy/counting.js"
import { goals, PACED_PER_SECOND } from "./proxy/goals.js"
import { makeMaterial } from "./proxy/material.js"
import { nodeTls, PEERS, type Peer } from "./proxy/peers.js"
import { measureReadiness, type Readiness } from "./proxy/ready.js"
import { type Entry, type Failure, measureAlternating, type Row, type Started, toPeer } from "./proxy/rounds.js"
import { programPath } from "./proxy/running.js"
import { upstreamOf } from "./proxy/work.js"

const PACED = `mTLS, JWT, ${PACED_PER_SECOND.toLocaleString("en")}/s`

/** Scenarios that are compared with each other are in one group. */
const SCENARIOS: readonly (readonly Scenario[])[] = [
  [{ name: "plain", work: "plain", path: "/", tokens: 0 }],
  [{ name: "plain, 1 KB", work: "plain", path: "/1k", tokens: 0 }],
  [{ name: "plain, 100 KB", work: "plain", path: "/100k", tokens: 0 }],
  [{ name: "JWT, 1 token", work: "jwt", path: "/", tokens: 1 }],
  [{ name: "JWT, 100 tokens", work: "jwt", path: "/", tokens: 100 }],
  [{ name: "JWT, 10,000 tokens", work: "jwt", path: "/", tokens: 10_000 }],
  [
    { name: "JWT, 10 rules", work: "jwt", path: "/", tokens: 100, rules: 10 },
    { name: "JWT, 10,000 rules", work: "jwt", path: "/", tokens: 100, rules: 10_000 },
  ],
  [{ name: "mTLS", work: "mtls", path: "/", tokens: 0 }],
  [{ name: "mTLS with JWT", work: "mtls-jwt", path: "/", tokens: 100 }],
  [{ name: "full handshakes", work: "mtls", path: "/", tokens: 0, reconnect: "full" }],
  [{ name: "resumed handshakes", work: "mtls", path: "/", tokens: 0, reconnect: "resumed" }],
  [{ name: "HTTP/2", work: "h2", path: "/", tokens: 0 }],
  [{ name: "HTTP/2, 100 KB", work: "h2", path: "/100k", tokens: 0 }],
  [{ name: "HTTP/2, mTLS", work: "mtls-h2", path: "/", tokens: 0 }],
  [{ name: "gRPC", work: "grpc", path: "/echo.Echo/Say", tokens: 0 }],
  [{ name: PACED, work: "mtls-jwt", path: "/", tokens: 100, perSecond: PACED_PER_SECOND }],
]
const READY = "ready"

const SECONDS = Number(option("seconds") ?? 5)
const only = option("only")

requireSchedstat("bench:proxy")
const material = await makeMaterial()
const { process: upstream, upstreams } = await startApplication()
/** An independent load generator for HTTP/2. */
const h2load = programPath("h2load")
const absent = PEERS.filter(({ program }) => program === undefined).map(({ name }) => name)
const rows: Row[] = []
const failures: Failure[] = []
let ready: Readiness | undefined
try {
  for (const group of SCENARIOS) {
    const possible = group.filter(({ work }) => work !== "h2" || h2load !== undefined)
    const wanted = possible.filter(({ name }) => only === undefined || name.includes(only))
    const measured = await measureAlternating(wanted.flatMap(entriesOf), SECONDS)
    rows.push(...measured.rows)
    failures.push(...measured.failures)
  }
  if (only === undefined || READY.includes(only)) {
    ready = await measureReadiness(material.folder).catch((error: unknown) => {
      failures.push({ scenario: READY, proxy: "xserver", why: messageOf(error) })
      return undefined
    })
  }
} finally {
  upstream.kill()
  rmSync(material.folder, { recursive: true })
}
const countingNs = rows.some(({ scenario }) => scenario === "plain") ? countingNanoseconds(NEW_EACH_TIME) : undefined
report(rows)

function entriesOf(scenario: Scenario): readonly Entry[] {
  // Only ours is measured with many rules, and HAProxy for the ratio.
  const rules = ({ name }: Peer): boolean => scenario.rules === undefined || name === "xserver" || name === "HAProxy"
  // node:tls only does handshakes, and forwards nothing.
  const compared = (peer: Peer): boolean => rules(peer) && (peer !== nodeTls || scenario.reconnect !== undefined)
  return PEERS.filter(peer => peer.program !== undefined && peer.can(scenario.work) && compared(peer)).map(peer => ({
    scenario: scenario.name,
    proxy: peer.name,
    start: () => start(scenario, peer),
  }))
}

async function start(scenario: Scenario, peer: Peer): Promise<Started> {
  const { work, rules } = scenario
  const { port, process: child } = await peer.start(work, upstreamOf(work, upstreams), material.folder, rules)
  const end = (): void => void child.kill("SIGKILL")
  return { processes: [child], caller: callerOf(scenario, port, material), end }
}

function report(all: readonly Row[]): void {
  const haproxy = (scenario: string): Row | undefined =>
    all.find(row => row.scenario === scenario && row.proxy === "HAProxy")
  const svg = option("svg")
  if (svg !== undefined) writeFileSync(svg, chart(all))
  if (process.argv.includes("--json")) {
    console.log(
      JSON.stringify({
        unit: "microseconds of CPU per request",
        seconds: SECONDS,
        connections: CONNECTIONS,
        absent,
        failures,
        rows: all,
        ready,
        countingNanosecondsPerCall: countingNs,
        goals: goals(all, PACED, ready, countingNs).map(goal => ({ ...goal, met: goal.figure <= goal.atMost })),
      }),
    )
    return
  }
  console.log(
    table(
      ["work", "proxy", "CPU µs", "to HAProxy", "req/s", "p50 ms", "p99 ms", "MiB", "errors"],
      all.map(row => [
        row.scenario,
        row.proxy,
        row.cpuMicroseconds,
        shown(toPeer(row, haproxy(row.scenario))),
        row.perSecond,
        row.p50Ms,
        row.p99Ms,
        row.residentMiB,
        row.errors,
      ]),
    ),
  )
  for (const name of absent) {
    const how = /, Node \d+$/.test(name)
      ? "npm has none for this machine"
      : `put it on PATH or name it in ${name.toUpperCase()}`
    console.log(`${name}: no such program here; ${how}`)
  }
  for (const { scenario, proxy, why } of failures) console.log(`${scenario}, ${proxy}: not measured: ${why}`)
  if (h2load === undefined)
    console.log("h2load: no such program here (nghttp2-client has it), so HTTP/2 was not measured")
  if (ready !== undefined) {
    const { starts, wallMs, cpuMs, residentMiB } = ready
    console.log(
      `\nready with state on disk, median of ${starts} starts: ${wallMs} ms, ${cpuMs} ms of CPU, ${residentMiB} MiB`,
    )
  }
  const stated = goals(all, PACED, ready, countingNs)
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
