// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { Emitter } from "./emitter.js"

it("calls every listener until it is removed", () => {
  const emitter = new Emitter<[name: string]>()
  const received: string[] = []
  const stop = emitter.on(name => void received.push(`a ${name}`))
  emitter.on(name => void received.push(`b ${name}`))
  emitter.emit("1")
  stop()
  emitter.emit("2")
  emitter.clear()
  emitter.emit("3")
  expect(received).toEqual(["a 1", "b 1", "b 2"])
})

it("calls a function that was added twice twice, and removes it once", () => {
  const emitter = new Emitter()
  let calls = 0
  const listener = (): void => void calls++
  const stop = emitter.on(listener)
  emitter.on(listener)
  emitter.emit()
  stop()
  emitter.emit()
  expect(calls).toBe(3)
})

it("calls the other listeners when one throws", () => {
  const errors: unknown[] = []
  const emitter = new Emitter<[number: number]>((error, number) => void errors.push(String(error), number))
  const received: number[] = []
  emitter.on(() => {
    throw new Error("no")
  })
  emitter.on(number => void received.push(number))
  emitter.emit(7)
  expect([received, errors]).toEqual([[7], ["Error: no", 7]])
})

it("rethrows a listener's error if errors have no handler", () => {
  const emitter = new Emitter()
  emitter.on(() => {
    throw new Error("no")
  })
  expect(() => emitter.emit()).toThrow("no")
})
