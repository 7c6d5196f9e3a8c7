// SPDX-License-Identifier: Apache-2.0
// One process of the local mesh. Its output goes to a log, it is restarted when it dies without a request to stop, and
// it is stopped with SIGTERM first and SIGKILL after a grace period.
//
//   idle --start--> running --dies--> waiting --delay--> running
//                      `----stop-------'`---> stopped

import { type ChildProcess, spawn } from "node:child_process"
import { closeSync } from "node:fs"
import type { ProcessRecord } from "../record/mesh-record.js"
import { boundLog, MOST_LOGGED } from "./bound-log.js"
import { openLog } from "./log-file.js"
import { identityOf } from "./process-identity.js"
import type { Launch } from "./programs.js"
import { afterExit, type EarlyExits, NO_EARLY_EXITS } from "./restart-delay.js"

export interface ProcessOptions {
  readonly name: string
  readonly launch: Launch
  readonly env: NodeJS.ProcessEnv
  readonly log: string
  /** The limit of the log in bytes. Beyond it, the log is rotated. */
  readonly mostLogged?: number
  /** The process started, restarted or ended. */
  readonly changed: () => void
  /** It ended without a request to stop. `how` describes the reason, `delayMs` is the time until the restart. */
  readonly died: (process: ManagedProcess, how: string, delayMs: number) => void
}

const LOOK_AT_LOG_MS = 1_000

export class ManagedProcess {
  readonly #options: ProcessOptions
  #child: ChildProcess | undefined
  #record: ProcessRecord | undefined
  #ended: Promise<void> = Promise.resolve()
  #earlyExits: EarlyExits = NO_EARLY_EXITS
  #restarts = 0
  #ends = 0
  #again: NodeJS.Timeout | undefined
  #stopping = false
  readonly #bounding: NodeJS.Timeout
  #bounded: Promise<void> = Promise.resolve()

  constructor(options: ProcessOptions) {
    this.#options = options
    const { log, mostLogged = MOST_LOGGED } = options
    this.#bounding = setInterval(() => {
      this.#bounded = this.#bounded.then(() => boundLog(log, mostLogged)).catch(() => undefined)
    }, LOOK_AT_LOG_MS).unref()
  }

  get name(): string {
    return this.#options.name
  }

  get log(): string {
    return this.#options.log
  }

  /** Undefined while it does not run. */
  get record(): ProcessRecord | undefined {
    return this.#record
  }

  /** How often it ended without a request to stop. */
  get exits(): number {
    return this.#ends
  }

  start(): void {
    const { name, launch, env, log } = this.#options
    const output = outputTo(log)
    const began = Date.now()
    // A separate session: Ctrl-C reaches only the supervisor, which stops all processes in order.
    const { file, args, argv0, mark } = launch
    const child = spawn(file, [...args], {
      argv0,
      env: { ...env, ...launch.env },
      detached: true,
      stdio: ["ignore", output, output, "pipe"],
    })
    if (output !== "ignore") closeSync(output)
    this.#child = child
    // The end of the process is reported by its own event.
    child.stdio[3]?.on("error", () => undefined)
    const identity = child.pid === undefined ? undefined : identityOf(child.pid)
    this.#record = identity && {
      ...identity,
      name,
      program: mark,
      since: new Date(began).toISOString(),
      restarts: this.#restarts,
    }
    this.#ended = new Promise(resolve => {
      child.once("error", error => {
        this.#gone(error.message, Date.now() - began)
        resolve()
      })
      child.once("exit", (code, signal) => {
        this.#gone(signal === null ? `exit code ${code ?? 0}` : signal, Date.now() - began)
        resolve()
      })
    })
    this.#options.changed()
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#again)
    this.#child?.kill("SIGTERM")
    const killTimer = setTimeout(() => this.#child?.kill("SIGKILL"), graceMs)
    await this.#ended
    clearTimeout(killTimer)
    clearInterval(this.#bounding)
    // The next process opens a log of the same name, which must not be truncated by this one.
    await this.#bounded
  }

  #gone(how: string, livedMs: number): void {
    if (this.#child === undefined) return
    this.#child = undefined
    this.#record = undefined
    this.#options.changed()
    if (this.#stopping) return
    this.#ends += 1
    const { exits, delayMs } = afterExit(this.#earlyExits, livedMs)
    this.#earlyExits = exits
    this.#again = setTimeout(() => {
      this.#restarts += 1
      this.start()
    }, delayMs)
    this.#options.died(this, how, delayMs)
  }
}

/** Opens the log. If the disk takes no log, the output is dropped; the process must still run. */
function outputTo(log: string): number | "ignore" {
  try {
    return openLog(log)
  } catch {
    return "ignore"
  }
}
