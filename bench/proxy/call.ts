// SPDX-License-Identifier: Apache-2.0
// One stretch of load on one port: our own caller for HTTP/1.1, h2load for HTTP/2.

import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { LoadFigures, LoadOrder } from "./load.js"
import type { Material } from "./material.js"
import type { Work } from "./peers.js"

export const CONNECTIONS = 32
const HTTP2_CONNECTIONS = 8
const HTTP2_STREAMS = 8

export interface Scenario {
  readonly name: string
  readonly work: Work
  readonly path: string
  readonly tokens: number
  readonly reconnect?: boolean
  readonly rules?: 10 | 10_000
  readonly perSecond?: number
}

export function call(scenario: Scenario, port: number, seconds: number, material: Material): Promise<LoadFigures> {
  return scenario.work === "h2"
    ? callHttp2(port, seconds, material.folder)
    : callHttp1(scenario, port, seconds, material)
}

async function callHttp1(
  { path, tokens: count, work, reconnect = false, perSecond }: Scenario,
  port: number,
  seconds: number,
  { folder, tokens }: Material,
): Promise<LoadFigures> {
  const head = `GET ${path} HTTP/1.1\r\nHost: app.bench\r\nUser-Agent: bench\r\nAccept: */*\r\n`
  const requests =
    count === 0 ? [`${head}\r\n`] : tokens.slice(0, count).map(token => `${head}Authorization: Bearer ${token}\r\n\r\n`)
  const mtls = work.includes("mtls") ? folder : undefined
  const order: LoadOrder = { port, connections: CONNECTIONS, seconds, requests, mtls, reconnect, perSecond }
  const file = join(folder, "order.json")
  writeFileSync(file, JSON.stringify(order))
  return JSON.parse(await output("node", ["node_modules/tsx/dist/cli.mjs", "bench/proxy/load.ts", file]))
}

async function callHttp2(port: number, seconds: number, folder: string): Promise<LoadFigures> {
  const log = join(folder, "h2load.log")
  writeFileSync(log, "")
  const load = ["-c", String(HTTP2_CONNECTIONS), "-m", String(HTTP2_STREAMS), "-D", String(seconds)]
  await output("h2load", [...load, "--warm-up-time=0", `--log-file=${log}`, `http://127.0.0.1:${port}/`])
  // Each line: when it began, the status, how long it took in microseconds.
  const answers = readFileSync(log, "utf8").trim().split("\n")
  const times: number[] = []
  for (const answer of answers) {
    const [, status, microseconds] = answer.split("\t")
    if (status === "200") times.push(Number(microseconds) / 1_000)
  }
  times.sort((a, b) => a - b)
  const at = (share: number): number => Number((times[Math.floor(times.length * share)] ?? 0).toFixed(3))
  return { requests: times.length, errors: answers.length - times.length, seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
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
