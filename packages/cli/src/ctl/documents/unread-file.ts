// SPDX-License-Identifier: Apache-2.0
// Whether a file that is skipped because of its name contains a manifest. Pages that only show manifests do not count.

import { open } from "node:fs/promises"
import { checkInBounds } from "../confinement.js"

const PAGE = /\.(md|mdx|markdown|adoc|rst|html?)$/i
const PACKED = /\.(zip|tar|tgz|tar\.\w+|(ya?ml|json)\.(gz|bz2|xz|zst|lz4|br|enc|age|gpg|asc))$/i
/** No manifest is longer. */
export const MOST = 16 << 20

/** As extended regular expressions of POSIX have it, for git. */
export const kindPattern = (kinds: readonly string[]): string =>
  `kind["']?[[:space:]]*:[[:space:]]*["']?(${kinds.join("|")})`

export const isPage = (name: string): boolean => PAGE.test(name)

/** Whether its name says that it has to be unpacked before it can be read. */
export const isCompressed = (name: string): boolean => PACKED.test(name)

export const COMPRESSED = "it is compressed or encrypted; unpack it"

/** The kind that the file holds; undefined where it holds none of them. */
export async function kindIn(file: string, kinds: readonly string[]): Promise<string | undefined> {
  if (isPage(file)) return undefined
  await checkInBounds(file)
  const opened = await open(file)
  try {
    const length = Math.min(MOST, (await opened.stat()).size)
    const { buffer, bytesRead } = await opened.read({ buffer: Buffer.alloc(length), length, position: 0 })
    return kindInBytes(buffer.subarray(0, bytesRead), kinds)
  } finally {
    await opened.close()
  }
}

export function kindInBytes(bytes: Buffer, kinds: readonly string[]): string | undefined {
  // Without its zeros, UTF-16 shows the words that are looked for.
  const text = bytes.toString("latin1").replaceAll("\0", "")
  return new RegExp(`\\bkind["']?\\s*:\\s*["']?(${kinds.join("|")})\\b`).exec(text)?.[1]
}

export const otherName = (kind: string): string =>
  `it holds a \`${kind}\`, and its name does not end in .yaml, .yml or .json`
