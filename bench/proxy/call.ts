// SPDX-License-Identifier: Apache-2.0
// Load on one port, in rounds: h2load for cleartext HTTP/2, our own callers for everything else.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { LoadOptions } from "./load.js"
import type { Http2LoadOptions } from "./load-http2.js"
import type { Material } from "./material.js"
import type { LoadFigures, LoadOrder } from "./orders.js"
import type { Work } from "./work.js"

export const CONNECTIONS = 32
export const HTTP2_LOAD = { connections: 8, streams: 8 } as const
const HOST = "127.0.0.1"

export interface Scenario {
  readonly name: string
  readonly work: Work
  readonly path: string
  readonly tokens: number
  /** Use a new connection for each request: with a full handshake, or resuming the previous session. */
  readonly reconnect?: "full" | "resumed"
  readonly rules?: 10 | 10_000
  readonly perSecond?: number
}

export interface Caller {
  /** Called before each stretch, outside the measured time. */
  open(): Promise<void>
  run(seconds: number): Promise<LoadFigures>
  end(): void
}

export function callerOf(scenario: Scenario, port: number, material: Material): Caller {
  const { work, path } = scenario
  switch (work) {
    case "h2":
      return new H2load(port, path, material.folder)
    case "mtls-h2":
    case "grpc":
      return new CallerProcess("load-http2", http2Options(scenario, port, material), material.folder)
    default:
      return new CallerProcess("load", optionsOf(scenario, port, material), material.folder)
  }
}

function http2Options({ work, path }: Scenario, port: number, { folder }: Material): Http2LoadOptions {
  const mtls = work === "mtls-h2" ? folder : undefined
  return { host: HOST, port, ...HTTP2_LOAD, path, mtls, grpc: work === "grpc", tokens: [] }
}

function optionsOf(scenario: Scenario, port: number, { folder, tokens }: Material): LoadOptions {
  const { path, tokens: count, work, reconnect, perSecond } = scenario
  const requests = requestsOf(path, tokens.slice(0, count))
  const mtls = work.includes("mtls") ? folder : undefined
  const connections = { connections: CONNECTIONS, reconnect: reconnect !== undefined, resume: reconnect === "resumed" }
  return { host: HOST, port, ...connections, requests, mtls, perSecond }
}

/** One request per token; a single request if there are no tokens. */
export function requestsOf(target: string, tokens: readonly string[]): readonly string[] {
  const head = `GET ${target} HTTP/1.1\r\nHost: app.bench\r\nUser-Agent: bench\r\nAccept: */*\r\n`
  return tokens.length === 0 ? [`${head}\r\n`] : tokens.map(token => `${head}Authorization: Bearer ${token}\r\n\r\n`)
}

let callers = 0

export class CallerProcess implements Caller {
  readonly #process: ChildProcess
  readonly #answers: AsyncIterator<string>

  /** `prefix`: the command that starts it in its environment, such as a network namespace. */
  constructor(
    program: "load" | "load-http2",
    options: LoadOptions | Http2LoadOptions,
    folder: string,
    prefix: readonly string[] = [],
  ) {
    const file = join(folder, `load-${++callers}.json`)
    writeFileSync(file, JSON.stringify(options))
    const [first, ...args] = [...prefix, "node", "--import", "tsx", `bench/proxy/${program}.ts`, file]
    const child = spawn(first, args, { stdio: ["pipe", "pipe", "inherit"] })
    // An interrupt ends the caller too; its replies show that it accepts no more orders.
    child.stdin?.on("error", () => undefined)
    this.#process = child
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  async open(): Promise<void> {
    await this.#ask("open")
  }

  async run(seconds: number): Promise<LoadFigures> {
    return JSON.parse(await this.#ask({ seconds }))
  }

  end(): void {
    this.#process.kill()
  }

  async #ask(order: LoadOrder): Promise<string> {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`)
    const answer = await this.#answers.next()
    if (answer.done === true) throw new Error("the caller ended")
    return answer.value
  }
}

class H2load implements Caller {
  readonly #url: string
  readonly #log: string

  constructor(port: number, path: string, folder: string) {
    this.#url = `http://${HOST}:${port}${path}`
    this.#log = join(folder, "h2load.log")
  }

  async open(): Promise<void> {}

  async run(seconds: number): Promise<LoadFigures> {
    writeFileSync(this.#log, "")
    const load = [
      "-c",
      String(HTTP2_LOAD.connections),
      "-m",
      String(HTTP2_LOAD.streams),
      "-D",
      `${Math.round(seconds * 1_000)}ms`,
    ]
    const child = spawn("h2load", [...load, "--warm-up-time=0", `--log-file=${this.#log}`, this.#url], {
      stdio: ["ignore", "ignore", "inherit"],
    })
    const [code] = await once(child, "close")
    if (code !== 0) throw new Error(`h2load ended with ${code}`)
    // Each line has the start time, the status, and the duration in microseconds.
    const answers = readFileSync(this.#log, "utf8").trim().split("\n")
    const latenciesMs: number[] = []
    for (const answer of answers) {
      const [, status, microseconds] = answer.split("\t")
      if (status === "200") latenciesMs.push(Number(microseconds) / 1_000)
    }
    return { requests: latenciesMs.length, errors: answers.length - latenciesMs.length, seconds, latenciesMs }
  }

  end(): void {}
}
