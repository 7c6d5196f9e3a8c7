// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process"
import { once } from "node:events"
import { describe, expect, it, test } from "vitest"
import { identityOf, isRunning, readPs, startOf } from "./process-identity.js"

const numbers = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 424242 20 21"

describe("the start of a process in /proc", () => {
  test.each([
    ["is field 22", `77 (node) ${numbers}`, "424242"],
    ["is found behind a name with spaces and parentheses", `77 (a) S (b c) ${numbers}`, "424242"],
    ["is nothing for one that waits to be noticed", `77 (node) ${numbers.replace("S", "Z")}`, undefined],
    ["is nothing for one that is dead", `77 (node) ${numbers.replace("S", "X")}`, undefined],
  ])("%s", (_, stat, expected) => {
    expect(startOf(stat)).toBe(expected)
  })
})

describe("a line of ps", () => {
  test.each([
    [
      "has state, start and command",
      "Ss   Sun Nov 15 08:00:01 2026 node a b\n",
      { started: "Sun Nov 15 08:00:01 2026", command: "node a b" },
    ],
    [
      "may pad the day",
      "S  Sun Nov  5 08:00:01 2026     /usr/bin/node --import x\n",
      { started: "Sun Nov 5 08:00:01 2026", command: "/usr/bin/node --import x" },
    ],
    ["of a process that has ended is none", "Z  Sun Nov 15 08:00:01 2026 (node)\n", undefined],
    ["that is empty is none", "\n", undefined],
  ])("%s", (_, line, expected) => {
    expect(readPs(line)).toEqual(expected)
  })
})

describe("a process", () => {
  it("is identified by its id and start time", () => {
    const own = identityOf(process.pid)
    expect(own).toBeDefined()
    if (own === undefined) return
    expect(isRunning(own)).toBe(true)
    expect(isRunning({ ...own, started: `${own.started}1` })).toBe(false)
  })

  it("is another one if it runs another program", () => {
    const own = identityOf(process.pid)
    expect(own && isRunning(own, "no such program")).toBe(false)
  })

  it("does not run after it has ended", async () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] })
    await once(child, "spawn")
    const identity = identityOf(child.pid ?? 0)
    expect(identity && isRunning(identity, process.execPath)).toBe(true)
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
    expect(identity && isRunning(identity)).toBe(false)
  })

  test.each([0, 1, -5, 1.5, Number.NaN])("is never %s: a signal to it would reach others", pid => {
    expect(identityOf(pid)).toBeUndefined()
  })
})
