// SPDX-License-Identifier: Apache-2.0
// Archives whose bytes depend only on their contents, so that every build of a commit gives the same file: folder
// entries, tar with gzip, and `ar` for Debian packages.

import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { type Entry, writeTar } from "../image/tar.js"

export type FileEntry = Extract<Entry, { kind: "file" }>

/** Everything below a folder, with a prefix. */
export function entriesOf(folder: string, prefix: string): readonly Entry[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name): readonly Entry[] => {
      const from = join(folder, name)
      const path = `${prefix}${name}`
      const found = lstatSync(from)
      if (found.isDirectory()) return entriesOf(from, `${path}/`)
      if (found.isSymbolicLink()) return [{ path, kind: "link", target: readlinkSync(from) }]
      return [file(path, readFileSync(from), (found.mode & 0o100) !== 0)]
    })
}

export function file(path: string, content: string | Buffer, executable = false): FileEntry {
  return { path, kind: "file", content: Buffer.from(content), mode: executable ? 0o755 : 0o644 }
}

/** `level` is gzip's compression level. */
export function tarGz(entries: readonly Entry[], level = 6): Buffer {
  // gzip's header contains no time here, and byte 9 declares the system as unknown.
  const packed = gzipSync(writeTar(entries), { level })
  packed[9] = 255
  return packed
}

/** The format of `.deb` files: members one after the other, each padded to an even length. */
export function ar(members: readonly { readonly name: string; readonly content: Buffer }[]): Buffer {
  const parts = members.flatMap(({ name, content }) => {
    const fields = [name.padEnd(16), "0".padEnd(12), "0".padEnd(6), "0".padEnd(6), "100644".padEnd(8)]
    const head = `${fields.join("")}${String(content.length).padEnd(10)}\`\n`
    return [Buffer.from(head), content, Buffer.from(content.length % 2 === 0 ? "" : "\n")]
  })
  return Buffer.concat([Buffer.from("!<arch>\n"), ...parts])
}
