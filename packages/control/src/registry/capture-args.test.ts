// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import { captureArgs, readCaptureArgs } from "./capture-args.js"

it("reads the arguments that injection writes", () => {
  const flags = { "--map": "8080:15080", "--undeclared": "pass", "--outbound": "15001", "--udp": "refuse" } as const
  const args = captureArgs(flags)
  expect(args.join(" ")).toBe("capture --map 8080:15080 --undeclared pass --outbound 15001 --udp refuse")
  expect(readCaptureArgs(args)).toEqual(flags)
})

test.each<[string, unknown]>([
  ["missing arguments", undefined],
  ["another command", ["xserver", "--map", ""]],
  ["a flag twice", ["capture", "--map", "8080:15080", "--map", ""]],
  ["a flag with its value in one argument", ["capture", "--map", "", "--undeclared=pass"]],
  ["a flag without a value", ["capture", "--map"]],
  ["a flag that injection never writes", ["capture", "--map", "", "--print", ""]],
  ["another mesh", ["capture", "--map", "", "--mesh", "x"]],
  ["a value that is not a string", ["capture", "--map", 1]],
])("rejects %s", (_, args) => {
  expect(readCaptureArgs(args)).toBe(undefined)
})
