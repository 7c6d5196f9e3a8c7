// SPDX-License-Identifier: Apache-2.0
// The architecture of a program or library, from its ELF header (`e_machine`): an arm64 image with an amd64 file would
// not start, and a build on the other architecture would not notice.

import type { Entry } from "./tar.js"

const MAGIC = Buffer.from("\x7fELF", "latin1")
const MACHINE_AT = 18
const MACHINES = new Map([
  [0x3e, "amd64"],
  [0xb7, "arm64"],
])

/** Undefined if it is neither a program nor a library. */
export function machineOf(content: Buffer): string | undefined {
  if (!content.subarray(0, MAGIC.length).equals(MAGIC) || content.length < MACHINE_AT + 2) return undefined
  const machine = content.readUInt16LE(MACHINE_AT)
  return MACHINES.get(machine) ?? `machine ${machine}`
}

/** Throws if one of the files is for another architecture, or none is for this one. */
export function builtFor(architecture: string, entries: readonly Entry[]): readonly Entry[] {
  const machines = entries.flatMap(entry => {
    const machine = entry.kind === "file" ? machineOf(entry.content) : undefined
    return machine === undefined ? [] : [{ path: entry.path, machine }]
  })
  const foreign = machines.find(({ machine }) => machine !== architecture)
  if (foreign !== undefined) {
    throw new Error(`\`${foreign.path}\` is built for ${foreign.machine} and cannot be in an image for ${architecture}`)
  }
  if (machines.length === 0) throw new Error(`there is no program for ${architecture} among ${entries.length} files`)
  return entries
}
