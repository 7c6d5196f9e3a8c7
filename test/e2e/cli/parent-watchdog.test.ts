// SPDX-License-Identifier: Apache-2.0
// The built watchdog, which ends the processes of a local mesh when their supervisor is gone.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterEach, beforeEach, expect, it } from "vitest"

const WATCHDOG = pathToFileURL("packages/cli/bundle/parent-watchdog.js").href
let child: ChildProcess | undefined
let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-watchdog-"))
})
afterEach(() => {
  child?.kill("SIGKILL")
  rmSync(folder, { recursive: true })
})

/** Started like the supervisor starts them, with the other end of the pipe. */
function watched(code: string): ChildProcess {
  const args = ["--import", WATCHDOG, "-e", code]
  child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit", "pipe"] })
  return child
}

async function line(of: ChildProcess): Promise<string> {
  const [text] = (await once(of.stdout ?? of, "data")) as [Buffer]
  return text.toString("utf8").trim()
}

/**
 * Ends one thread while it works, then starts another. The threads are files, because `--import` does not apply to code
 * in a string.
 */
const threads = (busy: string, idle: string): string => `
const { Worker } = require("node:worker_threads")
setInterval(() => undefined, 60_000)
const first = new Worker(${JSON.stringify(busy)})
first.on("message", async () => {
  await first.terminate()
  const second = new Worker(${JSON.stringify(idle)})
  second.on("error", error => console.log(error.message))
  second.on("exit", code => code === 0 && console.log("the second thread ended well"))
})`

it("ends a process whose supervisor is gone", async () => {
  const held = watched(`setInterval(() => undefined, 60_000); console.log("runs")`)
  expect(await line(held)).toBe("runs")
  held.stdio[3]?.destroy()
  expect(await once(held, "exit")).toEqual([null, "SIGTERM"])
})

it("keeps a process while its threads come and go", async () => {
  const [busy, idle] = [join(folder, "busy.cjs"), join(folder, "idle.cjs")]
  writeFileSync(
    busy,
    'setInterval(() => undefined, 60_000); require("node:worker_threads").parentPort.postMessage("up")',
  )
  writeFileSync(idle, "")
  const held = watched(threads(busy, idle))
  expect(await line(held)).toBe("the second thread ended well")
  expect(held.exitCode).toBeNull()
  held.stdio[3]?.destroy()
  expect(await once(held, "exit")).toEqual([null, "SIGTERM"])
})
