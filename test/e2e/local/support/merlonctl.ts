// SPDX-License-Identifier: Apache-2.0
// A local mesh as a user has it: a data folder, and `merlonctl` as a separate process for everything.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import { isRunning } from "../../../../packages/cli/src/local/processes/process-identity.js"
import { type MeshRecord, readRecord } from "../../../../packages/cli/src/local/record/mesh-record.js"

const MERLONCTL = resolve("packages/cli/bin/merlonctl.js")

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export class Merlonctl {
  readonly data: string

  constructor(data: string) {
    this.data = data
  }

  start(
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): {
    readonly child: ChildProcess
    readonly ended: Promise<Ended>
    readonly output: () => string
  } {
    const { data } = this
    const env = { PATH: process.env.PATH ?? "", MERLON_DATA: data, KUBECONFIG: `${data}/kubeconfig`, ...more }
    const child = spawn(process.execPath, [MERLONCTL, ...args], { env, stdio: ["ignore", "pipe", "pipe"] })
    const text = { stdout: "", stderr: "" }
    child.stdout.on("data", piece => {
      text.stdout += piece
    })
    child.stderr.on("data", piece => {
      text.stderr += piece
    })
    const ended = once(child, "close").then(([code]) => ({ code, ...text }))
    return { child, ended, output: () => text.stdout + text.stderr }
  }

  run(...args: readonly string[]): Promise<Ended> {
    return this.start(args).ended
  }

  get record(): MeshRecord {
    const record = readRecord(this.data)
    if (record === undefined) throw new Error(`there is no record in ${this.data}`)
    return record
  }

  exposed(service: string, path: string): string {
    const way = this.record.ingressPorts.find(candidate => candidate.service === service)
    return `http://127.0.0.1:${way?.port}${path}`
  }
}

/** The processes of a record that still run. */
export function survivors({ supervisor, processes }: MeshRecord): readonly string[] {
  const left = processes.filter(process => isRunning(process, process.program)).map(({ name }) => name)
  return isRunning(supervisor) ? [...left, "supervisor"] : left
}
