// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { FileOutput } from "./line-output.js"

it("drops lines when the disk is full, continues when there is room, and reports the loss", () => {
  let room = Number.POSITIVE_INFINITY
  let written = ""
  const output = new FileOutput(text => {
    if (room === 0) throw new Error("ENOSPC")
    const taken = text.slice(0, room)
    written += taken
    return taken.length
  })
  output.write("one\n")
  room = 2
  output.write("two\n")
  room = 0
  output.write("three\n")
  room = Number.POSITIVE_INFINITY
  output.write("four\n")
  output.write("five\n")
  expect(written).toBe('one\ntw\n{"level":40,"msg":"log lines were lost","writes":2}\nfour\nfive\n')
})
