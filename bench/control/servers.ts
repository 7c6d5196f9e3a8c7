// SPDX-License-Identifier: Apache-2.0
// The real programs, each in its own process, so that CPU and memory of the control plane can be measured separately.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { cpuMicroseconds } from "../cluster/process-cost.js"

/** This build as it is shipped. `bin` could start precompiled code, with flags for processes of tests. */
export const MERLOND = "packages/cli/bundle/merlond.js"
/** Makes memory comparable: a signal triggers a garbage collection. */
const COLLECTING = ["--expose-gc", "--import", "data:text/javascript,process.on('SIGUSR2',()=>globalThis.gc())"]
const QUIET_MS = 500
const QUIET_CPU_US = 20_000
/** CPU that the PINGs of each connection may take in that time. */
const QUIET_CPU_PER_PROXY_US = 30
/** Limit, because a busy machine may never become quiet. */
const LOOKS = 60

export class Program {
  readonly #child: ChildProcess
  /** Its output until it was ready. */
  readonly output: string

  private constructor(child: ChildProcess, output: string) {
    this.#child = child
    this.output = output
  }

  static async start(
    file: string,
    args: readonly string[],
    ready: RegExp,
    flags: readonly string[] = [],
  ): Promise<Program> {
    const child = spawn(process.execPath, [...COLLECTING, ...flags, file, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    let output = ""
    for await (const line of createInterface({ input: child.stdout })) {
      output += `${line}\n`
      if (ready.test(line)) return new Program(child, output)
    }
    throw new Error(`\`${args[0]}\` did not start: ${output}`)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Resolves when it has nothing left to do for this many connected proxies. */
  async quiet(proxies: number): Promise<void> {
    const idle = QUIET_CPU_US + proxies * QUIET_CPU_PER_PROXY_US
    for (let look = 0; look < LOOKS; look++) {
      const before = cpuMicroseconds([this.pid])
      await new Promise(resolve => setTimeout(resolve, QUIET_MS))
      if (cpuMicroseconds([this.pid]) - before < idle) return
    }
  }

  /** Several times with pauses, because pages are returned to the system later. */
  async collectGarbage(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      this.#child.kill("SIGUSR2")
      await new Promise(resolve => setTimeout(resolve, 250))
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, "exit")
    this.#child.kill("SIGTERM")
    await gone
  }
}
