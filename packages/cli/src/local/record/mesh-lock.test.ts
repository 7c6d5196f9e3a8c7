// SPDX-License-Identifier: Apache-2.0
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it, test } from "vitest"
import { lockHolder, takeLock } from "./mesh-lock.js"

let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "lock-"))
})
afterEach(() => rmSync(data, { recursive: true }))

it("is held by one process until it is released", () => {
  const lock = takeLock(data)
  expect(lockHolder(data)?.pid).toBe(process.pid)
  expect(() => takeLock(data)).toThrow(`already running (pid ${process.pid})`)
  lock.release()
  expect(lockHolder(data)).toBeUndefined()
  takeLock(data).release()
  expect(readdirSync(data)).toEqual([])
})

test.each([
  ["of a process that is gone", JSON.stringify({ pid: process.pid, started: "long ago" })],
  ["that was only half written", '{"pid":'],
  ["that says something else", "[]"],
])("a lock %s has no owner", (_, text) => {
  writeFileSync(join(data, "lock"), text)
  expect(lockHolder(data)).toBeUndefined()
  const lock = takeLock(data)
  expect(lockHolder(data)?.pid).toBe(process.pid)
  lock.release()
  expect(existsSync(join(data, "lock"))).toBe(false)
})

it("is not valid in a copy of its folder", () => {
  const lock = takeLock(data)
  const copy = `${data}-copy`
  try {
    cpSync(data, copy, { recursive: true })
    expect(lockHolder(copy)).toBeUndefined()
    takeLock(copy).release()
    expect(lockHolder(data)?.pid).toBe(process.pid)
  } finally {
    rmSync(copy, { recursive: true })
    lock.release()
  }
})
