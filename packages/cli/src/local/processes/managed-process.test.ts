// SPDX-License-Identifier: Apache-2.0
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ManagedProcess } from "./managed-process.js"
import { identityOf, isRunning } from "./process-identity.js"

let folder: string
let running: ManagedProcess | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "process-"))
})
afterEach(async () => {
  await running?.stop(0)
  rmSync(folder, { recursive: true })
})

const POLL = { timeout: 90_000, interval: 20 }

function manage(script: string, mostLogged?: number) {
  const program = join(folder, "a program.mjs")
  writeFileSync(program, script)
  const unexpectedExits: string[] = []
  const managed = new ManagedProcess({
    name: "test",
    launch: { file: process.execPath, args: [program, "one two"], mark: program },
    env: { PATH: process.env.PATH ?? "", WORD: "said" },
    log: join(folder, "logs", "test.log"),
    ...(mostLogged === undefined ? {} : { mostLogged }),
    changed: () => undefined,
    died: (_, how) => unexpectedExits.push(how),
  })
  running = managed
  const log = (): string => readFileSync(managed.log, "utf8")
  return { managed, unexpectedExits, log }
}

const STAY = "setInterval(() => undefined, 1000);"

describe("a managed process", () => {
  it("writes its output to its log", async () => {
    const { managed, log } = manage(`console.log(process.argv[2]); console.error(process.env.WORD); ${STAY}`)
    managed.start()
    await expect.poll(log, POLL).toBe("one two\nsaid\n")
    expect(managed.record && isRunning(managed.record, managed.record.program)).toBe(true)
  })

  it("rotates a log that has grown too long", async () => {
    const { managed, log } = manage(`setInterval(() => console.log("x".repeat(1000)), 10); ${STAY}`, 50_000)
    managed.start()
    const older = (): string => readFileSync(`${managed.log}.1`, "utf8")
    await expect.poll(() => existsSync(`${managed.log}.1`) && older().length, POLL).toBeGreaterThan(50_000)
    await expect.poll(() => log().length, POLL).toBeLessThan(50_000)
    // Appended at the start, and not after a hole in place of the old lines.
    await expect.poll(log, POLL).toMatch(/^x{1000}\n/)
    await managed.stop(0)
    expect(older()).toMatch(/^(x{1000}\n)+x*$/)
  })

  it("keeps running if its log cannot be written", async () => {
    const { managed, unexpectedExits, log } = manage(`console.log("up"); ${STAY}`)
    managed.start()
    await expect.poll(log, POLL).toBe("up\n")
    rmSync(join(folder, "logs"), { recursive: true })
    writeFileSync(join(folder, "logs"), "in its place")
    process.kill(managed.record?.pid ?? 0, "SIGKILL")
    await expect.poll(() => managed.record?.restarts, POLL).toBe(1)
    expect(unexpectedExits).toEqual(["SIGKILL"])
  })

  it("is restarted when it dies, and counts restarts", async () => {
    const { managed, unexpectedExits, log } = manage(`console.log("up"); ${STAY}`)
    managed.start()
    await expect.poll(log, POLL).toBe("up\n")
    process.kill(managed.record?.pid ?? 0, "SIGKILL")
    await expect.poll(log, POLL).toBe("up\nup\n")
    expect(unexpectedExits).toEqual(["SIGKILL"])
    expect(managed.record?.restarts).toBe(1)
  })

  it("is not restarted after a request to stop", async () => {
    const { managed, unexpectedExits, log } = manage(`console.log("up"); ${STAY}`)
    managed.start()
    await expect.poll(log, POLL).toBe("up\n")
    await managed.stop(10_000)
    expect([managed.record, unexpectedExits]).toEqual([undefined, []])
  })

  it("is killed if it does not stop", async () => {
    const { managed, log } = manage(`process.on("SIGTERM", () => console.log("no")); console.log("up"); ${STAY}`)
    managed.start()
    await expect.poll(log, POLL).toBe("up\n")
    const identity = managed.record && identityOf(managed.record.pid)
    await managed.stop(200)
    expect(log()).toBe("up\nno\n")
    expect(identity && isRunning(identity)).toBe(false)
  })

  it("can be stopped while it waits for a restart", async () => {
    const { managed, unexpectedExits } = manage("process.exit(3)")
    managed.start()
    await expect.poll(() => unexpectedExits, POLL).toEqual(["exit code 3"])
    await managed.stop(10_000)
    expect(managed.record).toBeUndefined()
  })
})
