// SPDX-License-Identifier: Apache-2.0
// Reads a file, or standard input if the file is `-`. Standard input is read as a stream: it may be a pipe without data
// yet.

import { isUtf8 } from "node:buffer"
import { readFile, stat } from "node:fs/promises"
import { checkInBounds } from "./confinement.js"
import { CommandError } from "./exit.js"

const MAX_BYTES = 64 << 20

export async function readText(file: string, what = "the file", most = MAX_BYTES): Promise<string> {
  if (file === "-") return standardInput()
  await checkInBounds(file)
  try {
    const { size } = await stat(file)
    if (size > most) throw new CommandError("unreadable-file", `\`${file}\` has more than ${most} bytes`)
    return utf8(await readFile(file), `\`${file}\``)
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { code, message } = error as NodeJS.ErrnoException // node:fs throws these
    throw new CommandError(
      "unreadable-file",
      code === "ENOENT" ? `there is no \`${file}\`` : `cannot read ${what}: ${message}`,
    )
  }
}

export async function standardInput(): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    // bytes, because no encoding is set
    size += chunk.length
    if (size > MAX_BYTES) throw new CommandError("unreadable-file", `standard input has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return utf8(Buffer.concat(chunks), "standard input")
}

/** Text in another encoding is rejected: decoded as UTF-8, it would be applied as something else. */
export function utf8(bytes: Buffer, name: string): string {
  if (!isUtf8(bytes)) throw new CommandError("unreadable-file", `${name} is not in UTF-8; save it as UTF-8`)
  return bytes.toString("utf8")
}
