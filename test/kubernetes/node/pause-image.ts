// SPDX-License-Identifier: Apache-2.0
// The pause image: a minimal program that keeps a Pod's namespaces and waits forever. It is written as machine code, so
// that no compiler is needed for four instructions.

import { type BuiltImage, layer, ociArchive } from "../../../scripts/image/oci.js"

export const PAUSE_IMAGE = "registry.invalid/pause:1"

/** amd64: pause() in a loop. arm64: ppoll(0, 0, 0, 0) in a loop. */
const CODE: { readonly [machine: string]: { readonly elf: number; readonly code: Buffer } } = {
  amd64: { elf: 0x3e, code: Buffer.from("b8220000000f05ebf7", "hex") },
  arm64: {
    elf: 0xb7,
    code: Buffer.from("000080d2010080d2020080d2030080d2040080d2280980d2010000d4f9ffff17", "hex"),
  },
}
const BASE = 0x400000
const HEADERS = 120

export function pauseImage(architecture: string): BuiltImage {
  const machine = CODE[architecture]
  if (machine === undefined) throw new Error(`no program is known for ${architecture}`)
  const content = program(machine.elf, machine.code)
  return ociArchive(
    { reference: PAUSE_IMAGE, user: "", entrypoint: ["/pause"], environment: [], workingFolder: "/", labels: {} },
    [{ architecture, layers: [layer("pause", [{ path: "pause", kind: "file", content, mode: 0o755 }])] }],
  )
}

/** An executable with one segment. */
function program(machine: number, code: Buffer): Buffer {
  const file = Buffer.alloc(HEADERS + code.length)
  file.write("\x7fELF\x02\x01\x01", 0, "latin1")
  file.writeUInt16LE(2, 16)
  file.writeUInt16LE(machine, 18)
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(BigInt(BASE + HEADERS), 24)
  file.writeBigUInt64LE(64n, 32)
  file.writeUInt16LE(64, 52)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(1, 56)
  // Loadable, readable and executable.
  file.writeUInt32LE(1, 64)
  file.writeUInt32LE(5, 68)
  file.writeBigUInt64LE(BigInt(BASE), 80)
  file.writeBigUInt64LE(BigInt(BASE), 88)
  file.writeBigUInt64LE(BigInt(file.length), 96)
  file.writeBigUInt64LE(BigInt(file.length), 104)
  file.writeBigUInt64LE(0x1000n, 112)
  code.copy(file, HEADERS)
  return file
}
