// SPDX-License-Identifier: Apache-2.0
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { followLog, showLog } from "./follow-log.js"
import { openLog, rotateLog, tailOf } from "./log-file.js"

let folder: string
let log: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "log-"))
  log = join(folder, "logs", "a.log")
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(text: string): void {
  const file = openLog(log)
  writeFileSync(file, text)
  closeSync(file)
}

describe("a log", () => {
  it("is readable by its owner only", () => {
    write("x\n")
    expect(statSync(log).mode & 0o077).toBe(0)
  })

  it("starts anew with each start and keeps the previous one", () => {
    write("one\n")
    rotateLog(log)
    write("two\n")
    rotateLog(log)
    write("three\n")
    expect([readFileSync(log, "utf8"), readFileSync(`${log}.1`, "utf8")]).toEqual(["three\n", "two\n"])
  })

  const long = `${"x".repeat(200)}\n`.repeat(2_000)
  test.each<[string, number | undefined, string]>([
    ["a\nb\nc\n", 2, "b\nc\n"],
    ["a\nb\nc", 2, "b\nc"],
    ["a\n", 5, "a\n"],
    ["a\nb\n", 0, ""],
    ["a\nb\n", undefined, "a\nb\n"],
    ["", 3, ""],
    [`${long}end\n`, 2, `${"x".repeat(200)}\nend\n`],
    ["\n\n\n", 2, "\n\n"],
    [`a\n${"y".repeat(65_535)}\nb\n`, 1, "b\n"],
  ])("ends with its last lines (case %#)", async (text, count, expected) => {
    write(text)
    expect(tailOf(log, count)).toBe(expected)
    const shown: string[] = []
    expect(await showLog(log, count, async bytes => void shown.push(bytes.toString()))).toBe(text.length)
    expect(shown.join("")).toBe(expected)
  })

  it("shows a line that is longer than a string can be", async () => {
    const size = 0x2000_0000
    write("begin")
    truncateSync(log, size)
    appendFileSync(log, "end\n")
    expect(tailOf(log, 10)).toMatch(/^\0{8188}end\n$/)
    for (const lines of [undefined, 10]) {
      let seen = 0
      expect(
        await showLog(log, lines, async bytes => {
          seen += bytes.length
        }),
      ).toBe(size + 4)
      expect(seen).toBe(size + 4)
    }
  })

  it("is shown no faster than it is consumed", async () => {
    write(long)
    let waiting = 0
    await showLog(log, undefined, async () => {
      waiting += 1
      expect(waiting).toBe(1)
      await new Promise(resolve => setImmediate(resolve))
      waiting -= 1
    })
  })

  it("has no lines if it does not exist", () => {
    expect(tailOf(join(folder, "none.log"), 3)).toBe("")
  })
})

it("is followed as it grows, and across a restart of its process", async () => {
  write("before\n")
  const stop = new AbortController()
  let seen = ""
  const take = async (bytes: Buffer): Promise<void> => {
    seen += bytes.toString()
  }
  const end = await showLog(log, 0, take)
  // Also shows what is appended between the two.
  appendFileSync(log, "one\n")
  const followed = followLog(log, end, take, stop.signal)
  await expect.poll(() => seen).toBe("one\n")
  rotateLog(log)
  write("two\n")
  await expect.poll(() => seen).toBe("one\ntwo\n")
  appendFileSync(log, "three\n")
  await expect.poll(() => seen).toBe("one\ntwo\nthree\n")
  truncateSync(log, 0)
  appendFileSync(log, "4\n")
  await expect.poll(() => seen).toBe("one\ntwo\nthree\n4\n")
  stop.abort()
  await followed
})
