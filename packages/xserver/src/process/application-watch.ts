// SPDX-License-Identifier: Apache-2.0
// Probes the application behind the proxy periodically: by a request, a connection or a command. One success makes it
// ready; two failures make it unready, since a single failure means little.

import { execFile } from "node:child_process"
import type { ApplicationProbe } from "@merlon/xds/member"
import { probeApplication } from "../admin/probe-application.js"

const BAD_ANSWERS = 2
/** Users wait for the first time that it becomes ready. */
const FIRST_PERIOD_MS = 250

export class ApplicationWatch {
  readonly #probe: ApplicationProbe
  readonly #host: string
  readonly #changed: (notReady: string | undefined) => void
  #notReady: string | undefined = "its application has not been probed yet"
  #bad = 0
  #wasReady = false
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  /** `changed` gets the reason for which it is not ready, or undefined when it is. */
  constructor(probe: ApplicationProbe, host: string, changed: (notReady: string | undefined) => void) {
    this.#probe = probe
    this.#host = host
    this.#changed = changed
  }

  /** Undefined when ready, otherwise the reason. */
  get notReady(): string | undefined {
    return this.#notReady
  }

  start(): void {
    void this.#ask()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #ask(): Promise<void> {
    const why = await ask(this.#probe, this.#host)
    if (this.#stopped) return
    this.#bad = why === undefined ? 0 : this.#bad + 1
    const before = this.#notReady
    if (why === undefined || before !== undefined || this.#bad >= BAD_ANSWERS) this.#notReady = why
    this.#wasReady ||= why === undefined
    if ((before === undefined) !== (this.#notReady === undefined)) this.#changed(this.#notReady)
    const period = this.#wasReady ? this.#probe.periodSeconds * 1_000 : FIRST_PERIOD_MS
    this.#timer = setTimeout(() => void this.#ask(), period)
  }
}

async function ask(probe: ApplicationProbe, host: string): Promise<string | undefined> {
  const timeoutMs = probe.timeoutSeconds * 1_000
  switch (probe.kind) {
    case "command":
      return askCommand(probe.command, timeoutMs)
    case "tcp": {
      const status = await probeApplication(
        { kind: "tcp", port: probe.port, path: "", headers: {}, timeoutMs },
        { host },
      )
      return status === 200 ? undefined : `its application does not respond at ${host}:${probe.port}`
    }
    case "http": {
      const { port, path } = probe
      const status = await probeApplication({ kind: "http", port, path, headers: {}, timeoutMs }, { host })
      return status >= 200 && status < 400 ? undefined : `its application answers ${path} with ${status}`
    }
  }
}

function askCommand([program = "", ...args]: readonly string[], timeoutMs: number): Promise<string | undefined> {
  return new Promise(resolve => {
    execFile(program, args, { timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: 65_536 }, error => {
      resolve(
        error === null
          ? undefined
          : `its probe \`${program}\` fails: ${error.killed === true ? "it took too long" : `exit code ${error.code ?? "unknown"}`}`,
      )
    })
  })
}
