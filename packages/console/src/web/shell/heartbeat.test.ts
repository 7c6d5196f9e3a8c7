// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { ApiError } from "../api/client.js"
import { noteAnswer, noteFailure, whenAway } from "./connection.js"
import { startHeartbeat } from "./heartbeat.js"

/** How long a page may show stale data without a banner. */
const LIMIT_MS = 3_000

const GONE = new ApiError(502, "Unreachable", "the API does not answer")
const WITHDRAWN = new ApiError(404, "", "the API answered 404")
let ask: (signal: AbortSignal) => Promise<unknown>
let stop: () => void

beforeEach(async () => {
  vi.useFakeTimers()
  noteAnswer("answers")
  ask = async () => undefined
  stop = startHeartbeat(signal => ask(signal))
  await vi.advanceTimersByTimeAsync(0)
})

afterEach(() => {
  stop()
  vi.useRealTimers()
})

it.each([
  ["cannot be reached", GONE],
  ["answers with errors", new ApiError(503, "ServiceUnavailable", "no endpoints")],
  ["has withdrawn its API", WITHDRAWN],
])("notices within three seconds that the control plane %s, and that it recovers", async (_, error) => {
  // The control plane fails at different times after a beat, in steps shorter than the pauses between beats.
  for (let offset = 0; offset < 2_000; offset += 100) {
    await vi.advanceTimersByTimeAsync(offset)
    expect(whenAway()).toBeUndefined()
    ask = async () => Promise.reject(error)
    await vi.advanceTimersByTimeAsync(LIMIT_MS - 1_000)
    expect(whenAway(), `${offset} ms after it started`).toBeDefined()
    ask = async () => undefined
    await vi.advanceTimersByTimeAsync(LIMIT_MS)
    expect(whenAway()).toBeUndefined()
  }
})

it("does not count a single failure", async () => {
  let asked = 0
  ask = async () => {
    if (asked++ === 0) throw GONE
  }
  for (let passed = 0; passed < LIMIT_MS; passed += 100) {
    await vi.advanceTimersByTimeAsync(100)
    expect(whenAway()).toBeUndefined()
  }
  expect(asked).toBeGreaterThan(1)
})

it("notices a control plane that accepts a request and never answers", async () => {
  ask = signal =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("the request was ended"))))
  await vi.advanceTimersByTimeAsync(7_000)
  expect(whenAway()).toBeDefined()
})

it("sends nothing after it is stopped, and does not count the aborted request as a failure", async () => {
  let asked = 0
  ask = signal => {
    asked++
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(GONE)))
  }
  await vi.advanceTimersByTimeAsync(LIMIT_MS)
  expect(asked).toBe(1)
  stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked).toBe(1)
  expect(whenAway()).toBeUndefined()
})

it("counts a 404 for a missing object as an answer", () => {
  noteFailure("answers", GONE)
  noteFailure("answers", new ApiError(404, "NotFound", "there is no `a` among workloads"))
  expect(whenAway()).toBeUndefined()
})
