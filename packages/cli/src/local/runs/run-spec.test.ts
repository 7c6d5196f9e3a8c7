// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it, test } from "vitest"
import { takeLock } from "../record/mesh-lock.js"
import { newRecord, writeRecord } from "../record/mesh-record.js"
import { awaitRun } from "./await-run.js"
import { runSpec } from "./run-request.js"
import { changeRuns, readRuns, replaceRuns, withRun } from "./run-spec.js"

let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "runs-"))
})
afterEach(() => rmSync(data, { recursive: true }))

const spec = (name: string, port = 8080) =>
  runSpec({
    ...{ namespace: "default", name, port, protocol: "http", labels: {}, replicas: 1 },
    ...{ command: ["x"], cwd: "/", env: {}, probe: { kind: "tcp" } },
  })
const names = (): readonly string[] => readRuns(data).map(({ name }) => name)

it("loses none of several concurrent requests", async () => {
  const requested = Array.from({ length: 12 }, (_, index) => `w${index}`)
  await Promise.all(requested.map(name => changeRuns(data, runs => withRun(runs, spec(name)))))
  expect(new Set(names())).toEqual(new Set(requested))
  expect(readdirSync(data)).toEqual(["runs.json"])
})

it("waits for other writers", async () => {
  const lock = takeLock(data, "runs.lock")
  const changed = changeRuns(data, runs => withRun(runs, spec("second")))
  await replaceWhileHeld()
  lock.release()
  await changed
  expect(names()).toEqual(["first", "second"])
})

/** Replaces the file like the holder of the lock. */
async function replaceWhileHeld(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
  writeFileSync(join(data, "runs.json"), JSON.stringify([spec("first")]))
}

it("is empty without requests", () => {
  expect(readRuns(data)).toEqual([])
})

test.each([
  ["is no JSON", () => writeFileSync(join(data, "runs.json"), "[{")],
  ["is no list", () => writeFileSync(join(data, "runs.json"), "{}")],
  ["cannot be read", () => mkdirSync(join(data, "runs.json"))],
])("is not read as empty, and not overwritten, if it %s", async (_, make) => {
  make()
  expect(() => readRuns(data)).toThrow(/cannot read .*runs\.json/)
  await expect(changeRuns(data, runs => withRun(runs, spec("new")))).rejects.toThrow(/cannot read/)
})

it("is replaced by the contents of a file, whatever it was", async () => {
  writeFileSync(join(data, "runs.json"), "[{")
  await replaceRuns(data, [spec("shop")])
  expect(names()).toEqual(["shop"])
})

it("reports that a request was replaced by another", async () => {
  const lock = takeLock(data)
  writeRecord(
    data,
    newRecord({
      ...{ phase: "ready", mesh: "merlon", domain: "merlon.dev", supervisor: lock.holder },
      ...{
        ports: { api: 1, mesh: 2, webhook: 3, health: 4 },
        workloads: [],
        ingressPorts: [],
        processes: [],
        runs: [],
      },
    }),
  )
  await changeRuns(data, runs => withRun(runs, spec("shop")))
  const waiting = awaitRun(data, spec("shop"))
  await changeRuns(data, runs => withRun(runs, spec("shop", 9090)))
  await expect(waiting).rejects.toThrow(/something else was asked for under `default\/shop`/)
  lock.release()
})
