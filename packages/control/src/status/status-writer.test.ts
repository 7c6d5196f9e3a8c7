// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { ManualClock, settle } from "../observe/testing/manual-clock.js"
import { StatusWriter } from "./status-writer.js"

function rig({ concurrency = 8 } = {}) {
  const clock = new ManualClock()
  const writes: string[] = []
  const warnings: string[] = []
  const state = { leader: true, write: async (_key: string): Promise<boolean> => true }
  const writer = new StatusWriter({
    write: key => {
      writes.push(key)
      return state.write(key)
    },
    isLeader: () => state.leader,
    warn: message => warnings.push(message),
    clock,
    concurrency,
  })
  return { clock, writes, warnings, state, writer }
}

describe("the rate", () => {
  it("is immediate for the first change, then once a second", async () => {
    const { clock, writes, writer } = rig()
    for (let i = 0; i < 50; i++) {
      writer.changed("a")
      await clock.advance(100)
    }
    expect(writes).toHaveLength(6)
    await clock.advance(10_000)
    expect(writes).toHaveLength(6)
    expect(clock.pending).toBe(0)
  })

  it("is immediate for urgent changes", async () => {
    const { writes, writer } = rig()
    writer.changed("a")
    await settle()
    writer.changed("a")
    writer.changed("a", true)
    await settle()
    expect(writes).toEqual(["a", "a"])
  })

  it("is not slowed down by a check without a write", async () => {
    const { writes, state, writer } = rig()
    state.write = async () => false
    for (let i = 0; i < 3; i++) {
      writer.changed("a")
      await settle()
    }
    expect(writes).toHaveLength(3)
  })

  it("allows one write per resource at a time, and a limited number in total", async () => {
    const { writes, state, writer } = rig({ concurrency: 2 })
    const answers: (() => void)[] = []
    state.write = () => new Promise(resolve => answers.push(() => resolve(true)))
    writer.changed("a")
    writer.changed("b")
    writer.changed("c")
    writer.changed("a", true)
    await settle()
    expect(writes).toEqual(["a", "b"])
    answers[1]?.()
    await settle()
    expect(writes).toEqual(["a", "b", "c"])
    answers[0]?.()
    await settle()
    expect(writes).toEqual(["a", "b", "c", "a"])
  })
})

describe("a failure", () => {
  it("is retried with growing delays, urgent or not", async () => {
    const { clock, writes, warnings, state, writer } = rig()
    state.write = () => Promise.reject(new ApiError(500, "InternalError", "broken"))
    writer.changed("a")
    await settle()
    writer.changed("a", true)
    await clock.advance(1_000)
    expect(writes).toHaveLength(2)
    await clock.advance(1_999)
    expect(writes).toHaveLength(2)
    await clock.advance(1)
    expect(writes).toHaveLength(3)
    expect(warnings[0]).toBe("the status of `a` could not be written: broken")
    state.write = async () => true
    await clock.advance(4_000)
    await clock.advance(60_000)
    expect(writes).toHaveLength(4)
  })

  it.each([404, 409, 422])("with %i is not logged", async code => {
    const { clock, writes, warnings, state, writer } = rig()
    state.write = () => Promise.reject(new ApiError(code, "", ""))
    writer.changed("a")
    await clock.advance(1_000)
    expect([warnings, writes.length]).toEqual([[], 2])
    writer.forget("a")
    await clock.advance(60_000)
    expect(writes).toHaveLength(2)
  })
})

describe("without the lease", () => {
  it("nothing is written or queued", async () => {
    const { clock, writes, state, writer } = rig()
    state.leader = false
    writer.changed("a", true)
    state.leader = true
    await clock.advance(60_000)
    expect(writes).toEqual([])
  })

  it("the queue is dropped at once", async () => {
    const { clock, writes, state, writer } = rig({ concurrency: 1 })
    let answer = (): void => undefined
    state.write = () =>
      new Promise(resolve => {
        answer = () => resolve(true)
      })
    writer.changed("a")
    writer.changed("b")
    writer.changed("a")
    await settle()
    state.leader = false
    writer.leadershipLost()
    answer()
    await clock.advance(60_000)
    expect(writes).toEqual(["a"])
    expect(clock.pending).toBe(0)
  })
})
