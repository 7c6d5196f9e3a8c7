// SPDX-License-Identifier: Apache-2.0
// Compiled code inside of an executable, the same bytes each time. V8 mixes chance into it (a seed of its hash tables, which
// it takes anew at every start); with a fixed seed it does not, but then it notes that a flag was set and takes the code
// only where the flag is set too. It must not be set there: a seed that everybody knows lets a caller choose names that
// collide. So the note is made to say what it says without the flag. The code itself does not depend on the seed.

import { execFileSync } from "node:child_process"

export const FIXED_SEED = "--hash-seed=1"

/** Magic number, V8's version, digest of the source, then of the flags: four bytes each (V8's SerializedCodeData). */
const VERSION_END = 8
const FLAGS_AT = 12
const FLAGS_END = 16

export function withoutSeedNote(blob: Buffer, node: string): Buffer {
  const seeded = headerOf(node, [FIXED_SEED])
  const plain = headerOf(node, [])
  const found: number[] = []
  const start = seeded.subarray(0, VERSION_END)
  for (let at = blob.indexOf(start); at !== -1; at = blob.indexOf(start, at + 1)) {
    if (blob.subarray(at + FLAGS_AT, at + FLAGS_END).equals(seeded.subarray(FLAGS_AT, FLAGS_END))) found.push(at)
  }
  const [at, ...others] = found
  if (at === undefined || others.length > 0) throw new Error("compiled code is not where this version of V8 had it")
  const changed = Buffer.from(blob)
  plain.copy(changed, at + FLAGS_AT, FLAGS_AT, FLAGS_END)
  return changed
}

function headerOf(node: string, flags: readonly string[]): Buffer {
  const program = 'process.stdout.write(new (require("node:vm").Script)("1").createCachedData().subarray(0, 16))'
  return execFileSync(node, [...flags, "-e", program])
}
