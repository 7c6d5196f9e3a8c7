// SPDX-License-Identifier: Apache-2.0
// What a request costs in each proxy: CPU, throughput, latency and memory, for the same work in the same run, one thread
// each. CPU per request is the figure to compare; the rest depends on what else the machine is doing.

import { spawn } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { ratio, table } from "./measure.js"
import { CONNECTIONS, call, type Scenario } from "./proxy/call.js"
import { chart } from "./proxy/chart.js"
import { goals, PACED_PER_SECOND } from "./proxy/goals.js"
import { makeMaterial } from "./proxy/material.js"
import { PEERS, type Peer } from "./proxy/peers.js"
import { measureReadiness, type Readiness } from "./proxy/ready.js"
import { usage } from "./proxy/running.js"

export interface Row {
  readonly scenario: string
  readonly proxy: string
  readonly cpuMicroseconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly residentMiB: number
  readonly errors: number
}

const PACED = `mTLS, JWT, ${PACED_PER_SECOND.toLocaleString("en")}/s`

const SCENARIOS: readonly Scenario[] = [
  { name: "plain", work: "plain", path: "/", tokens: 0 },
  { name: "plain, 1 KB", work: "plain", path: "/1k", tokens: 0 },
  { name: "plain, 100 KB", work: "plain", path: "/100k", tokens: 0 },
  { name: "JWT, 1 token", work: "jwt", path: "/", tokens: 1 },
  { name: "JWT, 100 tokens", work: "jwt", path: "/", tokens: 100 },
  { name: "JWT, 10,000 tokens", work: "jwt", path: "/", tokens: 10_000 },
  { name: "JWT, 10 rules", work: "jwt", path: "/", tokens: 100, rules: 10 },
  { name: "JWT, 10,000 rules", work: "jwt", path: "/", tokens: 100, rules: 10_000 },
  { name: "mTLS", work: "mtls", path: "/", tokens: 0 },
  { name: "mTLS with JWT", work: "mtls-jwt", path: "/", tokens: 100 },
  { name: "mTLS handshakes", work: "mtls", path: "/", tokens: 0, reconnect: true },
  { name: "HTTP/2", work: "h2", path: "/", tokens: 0 },
  { name: PACED, work: "mtls-jwt", path: "/", tokens: 100, perSecond: PACED_PER_SECOND },
]
const READY = "ready"

/** Compilers and caches have settled after so many requests, or so many seconds where requests are slow. */
const WARM_UP_REQUESTS = 20_000
const WARM_UP_SECONDS = 5

const option = (name: string): string | undefined =>
  process.argv.find(value => value.startsWith(`--${name}=`))?.split("=")[1]
const SECONDS = Number(option("seconds") ?? 5)
const only = option("only")

const material = await makeMaterial()
const upstream = spawn("node", ["--import", "tsx", "bench/proxy/upstream.ts"], {
  stdio: ["ignore", "pipe", "inherit"],
})
const upstreamPort = await firstNumber(upstream.stdout)
const absent = PEERS.filter(({ program }) => program === undefined).map(({ name }) => name)
const rows: Row[] = []
let ready: Readiness | undefined
try {
  for (const scenario of SCENARIOS) {
    if (only !== undefined && !scenario.name.includes(only)) continue
    for (const peer of PEERS) {
      // Only ours has rules to be many; the others stand beside it for the ratio.
      const compared = scenario.rules === undefined || peer.name === "xserver" || peer.name === "HAProxy"
      if (compared && peer.program !== undefined && peer.can(scenario.work)) rows.push(await measureOne(peer, scenario))
    }
  }
  if (only === undefined || READY.includes(only)) ready = await measureReadiness(material.folder)
} finally {
  upstream.kill()
  rmSync(material.folder, { recursive: true })
}
report(rows)

async function measureOne(peer: Peer, scenario: Scenario): Promise<Row> {
  const { port, process: child } = await peer.start(scenario.work, upstreamPort, material.folder, scenario.rules)
  const pid = child.pid ?? 0
  try {
    let warmed = 0
    for (let second = 0; second < WARM_UP_SECONDS && warmed < WARM_UP_REQUESTS; second++) {
      warmed += (await call(scenario, port, 1, material)).requests
    }
    const before = usage(pid)
    const figures = await call(scenario, port, SECONDS, material)
    const after = usage(pid)
    return {
      scenario: scenario.name,
      proxy: peer.name,
      cpuMicroseconds: Number(((after.cpuMicroseconds - before.cpuMicroseconds) / figures.requests).toPrecision(3)),
      perSecond: Math.round(figures.requests / figures.seconds),
      p50Ms: figures.p50Ms,
      p99Ms: figures.p99Ms,
      residentMiB: Math.round(after.residentBytes / 1_048_576),
      errors: figures.errors,
    }
  } finally {
    child.kill("SIGKILL")
  }
}

async function firstNumber(stream: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: stream })) return Number(line)
  throw new Error("the application did not start")
}

function report(all: readonly Row[]): void {
  const of = (scenario: string, proxy: string): number | undefined =>
    all.find(row => row.scenario === scenario && row.proxy === proxy)?.cpuMicroseconds
  const svg = option("svg")
  if (svg !== undefined) writeFileSync(svg, chart(all))
  if (process.argv.includes("--json")) {
    console.log(
      JSON.stringify({
        unit: "microseconds of CPU per request",
        seconds: SECONDS,
        connections: CONNECTIONS,
        absent,
        rows: all,
        ready,
        goals: goals(all, PACED, ready).map(goal => ({ ...goal, met: goal.figure <= goal.atMost })),
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
        ratio(row.cpuMicroseconds, of(row.scenario, "HAProxy")),
        row.perSecond,
        row.p50Ms,
        row.p99Ms,
        row.residentMiB,
        row.errors,
      ]),
    ),
  )
  for (const name of absent)
    console.log(`${name}: no such program here; put it on PATH or name it in ${name.toUpperCase()}`)
  if (ready !== undefined) {
    const { starts, wallMs, cpuMs, residentMiB } = ready
    console.log(
      `\nready with state on disk, median of ${starts} starts: ${wallMs} ms, ${cpuMs} ms of CPU, ${residentMiB} MiB`,
    )
  }
  const stated = goals(all, PACED, ready)
  if (stated.length === 0) return
  const shown = (figure: number): string => String(Number(figure.toPrecision(figure < 10 ? 2 : 3)))
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
