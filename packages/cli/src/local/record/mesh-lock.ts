// SPDX-License-Identifier: Apache-2.0
// One supervisor per data folder. The lock names its holder; a lock whose holder is gone is void.

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { CommandError } from "../../ctl/exit.js"
import { identityOf, isRunning, type ProcessIdentity } from "../processes/process-identity.js"
import { folderIdentity } from "./folder-identity.js"

const NAME = "lock"

export interface MeshLock {
  readonly holder: ProcessIdentity
  release(): void
}

/** Another running process holds it. */
export class LockHeld extends CommandError {}

export function lockHolder(data: string): ProcessIdentity | undefined {
  const holder = readHolder(join(data, NAME))
  return holder !== undefined && isRunning(holder) ? holder : undefined
}

export function alreadyRunning(pid: number): CommandError {
  return new LockHeld(
    "already-running",
    `already running (pid ${pid}); \`merlonctl status\` shows it, \`merlonctl down\` stops it`,
  )
}

export function takeLock(data: string, name = NAME): MeshLock {
  const holder = identityOf(process.pid)
  if (holder === undefined)
    throw new CommandError("data-in-use", "cannot find out when this process began; is /proc there, or `ps`?")
  const lock = join(data, name)
  const own = `${lock}.${process.pid}`
  try {
    writeFileSync(own, JSON.stringify({ ...holder, folder: folderIdentity(data) }), { mode: 0o600 })
    take(lock, own)
  } finally {
    rmSync(own, { force: true })
  }
  return { holder, release: () => release(lock, holder) }
}

// Creating a link is atomic and never replaces an existing one.
function take(lock: string, own: string): void {
  for (let tries = 0; tries < 10; tries++) {
    try {
      linkSync(own, lock)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    }
    const holder = readHolder(lock)
    if (holder !== undefined && isRunning(holder)) throw alreadyRunning(holder.pid)
    removeStale(lock, holder)
  }
  throw new CommandError("data-in-use", `cannot take \`${lock}\`; remove it if no mesh runs there`)
}

/** Two processes may find the same lock stale. If the slower one removes a new lock by mistake, it puts it back. */
function removeStale(lock: string, stale: ProcessIdentity | undefined): void {
  const aside = `${lock}.stale.${process.pid}`
  try {
    renameSync(lock, aside)
    const removed = readHolder(aside)
    if (removed?.pid !== stale?.pid || removed?.started !== stale?.started) linkSync(aside, lock)
  } catch {
    // Another process was faster. The next check shows which.
  } finally {
    rmSync(aside, { force: true })
  }
}

function release(lock: string, holder: ProcessIdentity): void {
  if (readHolder(lock)?.pid === holder.pid) rmSync(lock, { force: true })
}

function readHolder(lock: string): ProcessIdentity | undefined {
  try {
    const { pid, started, folder } = JSON.parse(readFileSync(lock, "utf8"))
    // A lock that was copied with its folder names the holder of the original.
    if (folder !== undefined && folder !== folderIdentity(dirname(lock))) return undefined
    return typeof pid === "number" && typeof started === "string" ? { pid, started } : undefined
  } catch {
    return undefined
  }
}
