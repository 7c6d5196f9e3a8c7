// SPDX-License-Identifier: Apache-2.0
// Private files that begin with a digest of their contents. State that decides about requests after a restart is read
// from such files, so that a single changed character is an error instead of another decision.

import { createHash } from "node:crypto"
import { join } from "node:path"
import { readPrivateFile, writePrivateFile, writePrivateFileLater } from "./private-file.js"

const digestLine = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`

export function writeCheckedFile(folder: string, name: string, text: string): void {
  writePrivateFile(folder, name, `${digestLine(text)}\n${text}`)
}

/** The same without blocking the process. A file must not be written concurrently. */
export async function writeCheckedFileLater(folder: string, name: string, text: string): Promise<void> {
  await writePrivateFileLater(folder, name, `${digestLine(text)}\n${text}`)
}

/** Undefined if there is none. Throws if the contents were changed. */
export function readCheckedFile(folder: string, name: string): string | undefined {
  const written = readPrivateFile(folder, name)
  if (written === undefined) return undefined
  const end = written.indexOf("\n")
  const text = written.slice(end + 1)
  if (end < 0 || written.slice(0, end) !== digestLine(text))
    throw new Error(`\`${join(folder, name)}\` does not match its checksum; remove it to start without it`)
  return text
}
