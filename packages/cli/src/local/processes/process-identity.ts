// SPDX-License-Identifier: Apache-2.0
// Identifies a process beyond its id, which systems reuse: with its start time and command, a process is distinguished
// from a later one with the same id.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

export interface ProcessIdentity {
  readonly pid: number
  /** The start time in the system's own format. It is compared, never parsed. */
  readonly started: string
}

interface Seen {
  readonly started: string
  readonly command: string
}

export function identityOf(pid: number): ProcessIdentity | undefined {
  const seen = look(pid)
  return seen && { pid, started: seen.started }
}

/** Whether this process still runs, with `program` in its command line. */
export function isRunning({ pid, started }: ProcessIdentity, program = ""): boolean {
  const seen = look(pid)
  return seen !== undefined && seen.started === started && seen.command.includes(program)
}

function look(pid: number): Seen | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
  return process.platform === "linux" ? lookIntoProc(pid) : askPs(pid)
}

function lookIntoProc(pid: number): Seen | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    const started = startOf(stat)
    if (started === undefined) return undefined
    // Ticks count from boot.
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
    return { started: `${boot}/${started}`, command }
  } catch {
    return undefined
  }
}

/** Field 22 of proc(5). Undefined for a zombie. */
export function startOf(stat: string): string | undefined {
  // The name is in parentheses and may contain any character, so fields count from the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state] = fields
  return state === undefined || /^[ZXx]$/.test(state) ? undefined : fields[19]
}

function askPs(pid: number): Seen | undefined {
  try {
    const line = execFileSync("ps", ["-o", "state=,lstart=,command=", "-p", String(pid)], {
      encoding: "utf8",
      env: { PATH: process.env.PATH ?? "/bin:/usr/bin", LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
    })
    return readPs(line)
  } catch {
    return undefined
  }
}

/** Parses a line of ps: a state, five words of date and time, and the command. */
export function readPs(line: string): Seen | undefined {
  const [, state = "", started, command] = /^\s*(\S+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/s.exec(line) ?? []
  if (started === undefined || command === undefined || state.startsWith("Z")) return undefined
  return { started: started.replace(/\s+/g, " "), command: command.trim() }
}
