// SPDX-License-Identifier: Apache-2.0
// Ends recorded processes that still run: first with SIGTERM, then with SIGKILL.

import { setTimeout as sleep } from "node:timers/promises"
import type { ProcessRecord } from "../record/mesh-record.js"
import { isRunning, type ProcessIdentity } from "./process-identity.js"

const LOOK_EVERY_MS = 50

/** Returns the processes that ran. */
export async function endLeftovers(
  processes: readonly ProcessRecord[],
  graceMs: number,
): Promise<readonly ProcessRecord[]> {
  const running = processes.filter(stillRuns)
  for (const { pid } of running) signal(pid, "SIGTERM")
  const deadline = Date.now() + graceMs
  while (running.some(stillRuns) && Date.now() < deadline) await sleep(LOOK_EVERY_MS)
  // Checked again right before the signal: the system may have reused a process id meanwhile.
  for (const process of running) if (stillRuns(process)) signal(process.pid, "SIGKILL")
  while (running.some(stillRuns)) await sleep(LOOK_EVERY_MS)
  return running
}

/** Whether it ended within the time. */
export async function waitForEnd(process: ProcessIdentity, graceMs: number): Promise<boolean> {
  const deadline = Date.now() + graceMs
  while (isRunning(process)) {
    if (Date.now() > deadline) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}

function stillRuns(process: ProcessRecord): boolean {
  return isRunning(process, process.program)
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has already ended.
  }
}
