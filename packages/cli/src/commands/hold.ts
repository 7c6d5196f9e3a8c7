// SPDX-License-Identifier: Apache-2.0
// `merlond hold`: runs any program and ends it, and every process that it has started, when its supervisor ends. A
// local mesh runs third-party programs under it, because they cannot load our parent watchdog.

import { spawn } from "node:child_process"
import { constants } from "node:os"
import { Command } from "commander"
import { HELD_GRACE_MS } from "../local/processes/grace.js"

export function holdCommand(): Command {
  return new Command("hold")
    .description("Run a program that stops when its supervisor does (for local meshes)")
    .argument("<program>", "any program of this machine")
    .argument("[args...]", "its arguments")
    .option("--folder <path>", "where it runs", process.cwd())
    .addHelpText("after", "\nExample:\n  merlond hold -- python3 -m http.server 8080")
    .action((program: string, args: readonly string[], { folder }: { folder: string }) => run(program, args, folder))
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  // A separate process group, so that processes that it has started end with it.
  const child = spawn(program, [...args], { cwd, detached: true, stdio: ["ignore", "inherit", "inherit"] })
  const end = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // It has already ended.
    }
  }
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      end(signal)
      setTimeout(() => end("SIGKILL"), HELD_GRACE_MS).unref()
    })
  }
  await new Promise<void>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "ENOENT" ? new Error(`there is no program \`${program}\`, or no folder \`${cwd}\``) : error)
    })
    child.once("exit", (code, signal) => {
      // Ends the rest of the group.
      end("SIGKILL")
      process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
      resolve()
    })
  })
  // The pipe keeps the process running as long as the supervisor holds its end, so exit explicitly.
  process.exit()
}
