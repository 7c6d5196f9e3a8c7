// SPDX-License-Identifier: Apache-2.0
// The pool with real processes that speak its protocol and misbehave on request: the name of the configured workload
// selects what a worker does.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { meshConfig } from "@merlon/policy/mesh"
import { eventually } from "@merlon/wire/testing"
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest"
import type { Configuration } from "../config/configuration.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { WorkerPool } from "./worker-pool.js"

const WORKER = `
let revision = 0
process.on("message", ({ number, question }) => {
  const answer = value => process.send({ number, answer: value })
  if (question.ask === "decisions") return answer([{ time: String(process.pid), id: String(revision) }])
  if (question.ask !== "apply") return answer([])
  const { revision: wanted, workload: { name, namespace } } = question.configuration
  const meant = namespace === "all" || namespace === String(process.pid)
  if (meant && name === "dies") return process.exit(1)
  if (meant && name === "rejects") return process.send({ number, error: "rejected" })
  if (name === "misses") process.send({ unknownKeys: ["a", String(process.pid)] })
  revision = wanted
  answer()
})
process.on("disconnect", () => process.exit(0))
process.send("hello")
`

let folder = ""
let pool: WorkerPool
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-pool-"))
  writeFileSync(join(folder, "worker.cjs"), WORKER)
})
afterEach(() => pool.drain())
afterAll(() => rmSync(folder, { recursive: true }))

const configuration = (revision: number, does = "works", who = "all"): Configuration => ({
  revision,
  mesh: meshConfig(),
  workload: { namespace: who, name: does, serviceAccount: "default", labels: {} },
  ports: [],
  policies: [],
  keySets: {},
  tls: undefined,
  revocations: { identities: [], serials: [] },
  probes: {},
})

/** Starts two workers that enforce the first revision. */
async function start(answerMs?: number): Promise<void> {
  const options = { mesh: "merlon", limits: DEFAULT_LIMITS, accessLog: "off" } as const
  pool = new WorkerPool(options, 2, { exec: join(folder, "worker.cjs"), args: [] }, answerMs)
  await pool.apply(configuration(1))
}

const processes = async () => (await pool.decisions()).map(({ time }) => Number(time))
const revisions = async () => (await pool.decisions()).map(({ id }) => Number(id))

/** Dead workers are replaced after a while. */
async function untilBothEnforce(revision: number): Promise<void> {
  let seen: readonly number[] = []
  const bothEnforce = async () => {
    seen = await revisions().catch(() => [])
    return seen.length === 2 && seen.every(each => each === revision)
  }
  await eventually(bothEnforce, { what: `both workers enforce revision ${revision}`, state: () => seen.join(", ") })
}

it("applies a configuration although it kills one worker, whose successor starts with it", async () => {
  await start()
  const [victim = 0] = await processes()
  await pool.apply(configuration(2, "dies", String(victim)))
  await untilBothEnforce(2)
})

it("restores the previous configuration everywhere if one worker rejects", async () => {
  await start()
  const [stubborn = 0] = await processes()
  await expect(pool.apply(configuration(2, "rejects", String(stubborn)))).rejects.toThrow("rejected")
  expect(await revisions()).toEqual([1, 1])
})

it("rejects a configuration that kills all workers, and restores the previous one", async () => {
  await start()
  await expect(pool.apply(configuration(2, "dies"))).rejects.toThrow("the worker has ended")
  await untilBothEnforce(1)
})

it("survives writing to a worker that has just been killed", async () => {
  await start()
  const [victim = 0] = await processes()
  process.kill(victim, "SIGKILL")
  // Waits until the process is dead but not yet reaped.
  const deadline = Date.now() + 60_000
  while (!readFileSync(`/proc/${victim}/stat`, "latin1").includes(") Z "))
    if (Date.now() > deadline) expect.unreachable(`process ${victim} does not die of SIGKILL within 60 s`)
  await pool.apply(configuration(2))
  await untilBothEnforce(2)
})

it("does not wait forever for a stuck worker", async () => {
  // Long enough to start a process on a busy machine.
  await start(5_000)
  const [stuck = 0] = await processes()
  process.kill(stuck, "SIGSTOP")
  await pool.apply(configuration(2))
  await untilBothEnforce(2)
  expect(await processes()).not.toContain(stuck)
})

it("reports missing keys of all workers at the rate of one", async () => {
  await start()
  const received: (readonly string[])[] = []
  pool.onUnknownKeys(ids => received.push(ids))
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    for (let revision = 2; revision < 6; revision++) await pool.apply(configuration(revision, "misses"))
    expect(received).toHaveLength(1)
    vi.advanceTimersByTime(1_000)
    expect(received).toHaveLength(2)
    expect(new Set(received.flat())).toEqual(new Set(["a", ...(await processes()).map(String)]))
  } finally {
    vi.useRealTimers()
  }
})
