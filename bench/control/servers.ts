// SPDX-License-Identifier: Apache-2.0
// The real programs, each a process of its own, so that CPU and memory of the control plane are its alone.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { cpuMicroseconds } from "../cluster/process-cost.js"

/** Of this build, as it is shipped: `bin` may start what was compiled ahead, under flags for processes of tests. */
export const MERLOND = "packages/cli/bundle/merlond.js"
/** So that memory can be compared: a signal collects garbage. */
const COLLECTING = ["--expose-gc", "--import", "data:text/javascript,process.on('SIGUSR2',()=>globalThis.gc())"]
const QUIET_MS = 500
const QUIET_CPU_US = 20_000
/** What pings of each connection may cost in that time. */
const QUIET_CPU_PER_PROXY_US = 30
/** On a machine that is busy with something else it may never be. */
const LOOKS = 60

export class Program {
  readonly #child: ChildProcess
  /** What it said until it was ready. */
  readonly said: string

  private constructor(child: ChildProcess, said: string) {
    this.#child = child
    this.said = said
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
    let said = ""
    for await (const line of createInterface({ input: child.stdout })) {
      said += `${line}\n`
      if (ready.test(line)) return new Program(child, said)
    }
    throw new Error(`\`${args[0]}\` did not start: ${said}`)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Resolves when it has nothing left to do for so many connected proxies. */
  async quiet(proxies: number): Promise<void> {
    const idle = QUIET_CPU_US + proxies * QUIET_CPU_PER_PROXY_US
    for (let look = 0; look < LOOKS; look++) {
      const before = cpuMicroseconds([this.pid])
      await new Promise(resolve => setTimeout(resolve, QUIET_MS))
      if (cpuMicroseconds([this.pid]) - before < idle) return
    }
  }

  /** Several times with pauses, because pages go back to the system later. */
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
