// SPDX-License-Identifier: Apache-2.0
// An image for one architecture contains nothing that is built for another.

import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { builtFor, machineOf } from "../../scripts/image/machine.js"
import type { Entry } from "../../scripts/image/tar.js"

function program(machine: number): Buffer {
  const content = Buffer.alloc(64)
  content.write("\x7fELF\x02\x01\x01", 0, "latin1")
  content.writeUInt16LE(machine, 18)
  return content
}
const file = (path: string, content: Buffer): Entry => ({ path, kind: "file", content, mode: 0o755 })
const licence = file("LICENSE", Buffer.from("Apache-2.0"))

it.each([
  ["amd64", program(0x3e), "amd64"],
  ["arm64", program(0xb7), "arm64"],
  ["an unsupported architecture", program(0xf3), "machine 243"],
  ["text", Buffer.from("#!/usr/bin/node\n"), undefined],
  ["a truncated program", program(0x3e).subarray(0, 10), undefined],
  ["nothing", Buffer.alloc(0), undefined],
])("detects the architecture of %s", (_, content, machine) => {
  expect(machineOf(content)).toBe(machine)
})

it("detects the architecture of the running program", () => {
  expect(machineOf(readFileSync(process.execPath))).toBe(process.arch === "arm64" ? "arm64" : "amd64")
})

it("accepts files for a single architecture", () => {
  const files = [
    licence,
    file("usr/bin/node", program(0xb7)),
    { path: "lib", kind: "link", target: "usr/lib" } as const,
  ]
  expect(builtFor("arm64", files)).toBe(files)
})

it.each([
  ["a program of another architecture", [file("usr/bin/node", program(0x3e))], "`usr/bin/node` is built for amd64"],
  ["no program at all", [licence], "there is no program for arm64"],
] as const)("rejects %s", (_, files, message) => {
  expect(() => builtFor("arm64", [...files])).toThrow(message)
})
