// SPDX-License-Identifier: Apache-2.0
// Starts a supervisor in the background. The parent prints its progress until everything is ready, and exits.

import { spawn } from "node:child_process"
import { closeSync } from "node:fs"
import { CommandError } from "../../ctl/exit.js"
import { fieldsOf, textOf } from "../../ctl/foreign.js"
import type { Progress, ProgressEvent } from "../progress.js"
import { alreadyRunning, lockHolder } from "../record/mesh-lock.js"
import { logPath } from "../record/mesh-record.js"
import { prepareData } from "../record/prepare-data.js"
import { openLog, rotateLog, tailOf } from "./log-file.js"
import type { Programs } from "./programs.js"

const TOLD_LINES = 10
/** An environment variable and not a flag: users do not need it. */
const SUPERVISED = "MERLON_SUPERVISED"

export interface DetachOptions {
  readonly data: string
  readonly programs: Programs
  /** Arguments of `merlonctl up` for the foreground. */
  readonly args: readonly string[]
  readonly progress: Progress
}

/** Resolves when everything is ready. If interrupted before that, it ends the supervisor too. */
export async function startDetached({ data, programs, args, progress }: DetachOptions): Promise<void> {
  const holder = lockHolder(data)
  if (holder !== undefined) throw alreadyRunning(holder.pid)
  prepareData(data)
  const log = logPath(data, "supervisor")
  rotateLog(log)
  const output = openLog(log)
  const launch = programs.merlonctl(["up", ...args])
  const child = spawn(launch.file, [...launch.args], {
    argv0: launch.argv0,
    detached: true,
    env: { ...process.env, [SUPERVISED]: "1" },
    stdio: ["ignore", output, output, "ipc"],
  })
  closeSync(output)
  let interrupted = false
  const interrupt = (): void => {
    interrupted = true
    child.kill("SIGTERM")
  }
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  for (const signal of signals) process.on(signal, interrupt)
  try {
    await new Promise<void>((resolve, reject) => {
      child.on("message", message => {
        const { kind, text } = reported(message)
        if (kind === "ready") resolve()
        else if (kind === "failed") reject(new CommandError("mesh-failed", text))
        else progress({ kind, text })
      })
      child.once("error", reject)
      child.once("exit", (code, signal) => {
        if (interrupted)
          reject(new CommandError("mesh-failed", "interrupted; everything that had been started is stopped"))
        const tail = tailOf(log, TOLD_LINES).trimEnd()
        reject(
          new CommandError(
            "mesh-failed",
            `the mesh ended before it was ready (${signal ?? code}); the end of \`${log}\`:\n${tail}`,
          ),
        )
      })
    })
  } finally {
    for (const signal of signals) process.off(signal, interrupt)
    if (child.connected) child.disconnect()
    child.unref()
  }
}

export function isSupervised(env: NodeJS.ProcessEnv): boolean {
  return env[SUPERVISED] === "1"
}

/** Reports to the parent of a supervisor while there is one. */
export function reportToParent(kind: ProgressEvent["kind"] | "ready" | "failed", text: string): Promise<void> {
  return new Promise(resolve => {
    // A parent that has exited reads nothing.
    if (process.send === undefined || !process.connected) resolve()
    else process.send({ kind, text }, undefined, undefined, () => resolve())
  })
}

type Reported = { readonly kind: ProgressEvent["kind"] | "ready" | "failed"; readonly text: string }

function reported(message: unknown): Reported {
  const { kind, text } = fieldsOf(message)
  // The sender is our own program, so the kind is one of those above.
  return { kind: (textOf(kind) ?? "note") as Reported["kind"], text: textOf(text) ?? "" }
}
