// SPDX-License-Identifier: Apache-2.0
// What a request costs in each proxy: CPU, throughput, latency and memory, for the same work in the same run, one thread
// each. CPU per request is the figure to compare; the rest depends on what else the machine is doing.

import { spawn } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { ratio, table } from "./measure.js"
import { chart } from "./proxy/chart.js"
import type { LoadFigures, LoadOrder } from "./proxy/load.js"
import { type Material, makeMaterial } from "./proxy/material.js"
import { PEERS, type Peer, usage, type Work } from "./proxy/peers.js"

interface Scenario {
  readonly name: string
  readonly work: Work
  readonly path: string
  readonly tokens: number
  readonly reconnect?: boolean
  readonly rules?: 10 | 10_000
}

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
]

const CONNECTIONS = 32
const option = (name: string): string | undefined =>
  process.argv.find(value => value.startsWith(`--${name}=`))?.split("=")[1]
const SECONDS = Number(option("seconds") ?? 5)
const only = option("only")

const material = await makeMaterial()
const upstream = spawn("node", ["node_modules/tsx/dist/cli.mjs", "bench/proxy/upstream.ts"], {
  stdio: ["ignore", "pipe", "inherit"],
})
const upstreamPort = await firstNumber(upstream.stdout)
const rows: Row[] = []
try {
  for (const scenario of SCENARIOS) {
    if (only !== undefined && !scenario.name.includes(only)) continue
    for (const peer of PEERS) {
      // Only ours has rules to be many; the others stand beside it for the ratio.
      const compared = scenario.rules === undefined || peer.name === "xserver" || peer.name === "HAProxy"
      if (compared && peer.can(scenario.work)) rows.push(await measureOne(peer, scenario))
    }
  }
} finally {
  upstream.kill()
  rmSync(material.folder, { recursive: true })
}
report(rows)

async function measureOne(peer: Peer, scenario: Scenario): Promise<Row> {
  const { port, process: child } = await peer.start(scenario.work, upstreamPort, material.folder, scenario.rules)
  const pid = child.pid ?? 0
  try {
    await call(scenario, port, 1)
    const before = usage(pid)
    const figures = await call(scenario, port, SECONDS)
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

function call(scenario: Scenario, port: number, seconds: number): Promise<LoadFigures> {
  return scenario.work === "h2" ? callHttp2(port, seconds) : callHttp1(scenario, port, seconds, material)
}

async function callHttp1(
  scenario: Scenario,
  port: number,
  seconds: number,
  { folder, tokens }: Material,
): Promise<LoadFigures> {
  const head = `GET ${scenario.path} HTTP/1.1\r\nHost: app.bench\r\nUser-Agent: bench\r\nAccept: */*\r\n`
  const requests =
    scenario.tokens === 0
      ? [`${head}\r\n`]
      : tokens.slice(0, scenario.tokens).map(token => `${head}Authorization: Bearer ${token}\r\n\r\n`)
  const mtls = scenario.work.includes("mtls") ? folder : undefined
  const order: LoadOrder = {
    port,
    connections: CONNECTIONS,
    seconds,
    requests,
    mtls,
    reconnect: scenario.reconnect ?? false,
  }
  const file = join(folder, "order.json")
  writeFileSync(file, JSON.stringify(order))
  return JSON.parse(await output("node", ["node_modules/tsx/dist/cli.mjs", "bench/proxy/load.ts", file]))
}

async function callHttp2(port: number, seconds: number): Promise<LoadFigures> {
  const text = await output("h2load", [
    "-c",
    "8",
    "-m",
    "8",
    "-D",
    String(seconds),
    "--warm-up-time=0",
    `http://127.0.0.1:${port}/`,
  ])
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0)
  const requests = number(/(\d+) 2xx/)
  return { requests, errors: number(/(\d+) failed/), seconds, p50Ms: 0, p99Ms: 0 }
}

function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] })
    let text = ""
    child.stdout.on("data", chunk => {
      text += chunk
    })
    child.on("close", code => (code === 0 ? resolve(text) : reject(new Error(`${command} ended with ${code}`))))
  })
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
        rows: all,
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
}
