// SPDX-License-Identifier: Apache-2.0
// Programs that run while they are measured: their path, when they listen, what they have used.

import { type ChildProcess, execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"

/** A TCP state, as Linux prints it. */
const LISTEN = "0A"

export interface Running {
  readonly port: number
  readonly process: ChildProcess
}

/** The path of the program; undefined if it is not installed. */
export function programPath(name: string): string | undefined {
  const named = process.env[name.toUpperCase()]
  if (named !== undefined && existsSync(named)) return named
  try {
    return execFileSync("which", [name], { encoding: "utf8" }).trim()
  } catch {
    return undefined
  }
}

export async function listening(child: ChildProcess, port: number): Promise<Running> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} ended with ${child.exitCode}`)
    if (listens(child.pid ?? 0, port)) return { port, process: child }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error(`${child.spawnfile} does not accept connections`)
}

/** Whether a process listens on the port, in the network namespace of the process. */
function listens(pid: number, port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  return ["tcp", "tcp6"].some(family =>
    readFileSync(`/proc/${pid}/net/${family}`, "utf8")
      .split("\n")
      .some(line => {
        const [, address, , state] = line.trim().split(/\s+/)
        return state === LISTEN && address?.endsWith(local) === true
      }),
  )
}

/** CPU time of a process and its children in microseconds, and resident memory in bytes. */
export function usage(pid: number): { readonly cpuMicroseconds: number; readonly residentBytes: number } {
  let nanoseconds = 0
  let pages = 0
  for (const each of [pid, ...children(pid)]) {
    // Per thread in nanoseconds, whereas `stat` counts hundredths of a second.
    for (const thread of readdirSync(`/proc/${each}/task`)) {
      nanoseconds += Number(readFileSync(`/proc/${each}/task/${thread}/schedstat`, "utf8").split(" ")[0])
    }
    pages += Number(readFileSync(`/proc/${each}/statm`, "utf8").split(" ")[1])
  }
  return { cpuMicroseconds: nanoseconds / 1_000, residentBytes: pages * 4_096 }
}

function children(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return text === "" ? [] : text.split(" ").flatMap(child => [Number(child), ...children(Number(child))])
}
