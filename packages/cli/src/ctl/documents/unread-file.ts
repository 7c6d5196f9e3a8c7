// SPDX-License-Identifier: Apache-2.0
// Whether a file that is skipped because of its name contains a manifest. Pages with examples of manifests do not
// count.

import { open } from "node:fs/promises"
import { checkInBounds } from "../confinement.js"

const PAGE = /\.(md|mdx|markdown|adoc|rst|html?)$/i
const PACKED = /\.(zip|tar|tgz|tar\.\w+|(ya?ml|json)\.(gz|bz2|xz|zst|lz4|br|enc|age|gpg|asc))$/i
/** No manifest is longer. */
export const MOST = 16 << 20

/** As POSIX extended regular expressions, for git. */
export const kindPattern = (kinds: readonly string[]): string =>
  `kind["']?[[:space:]]*:[[:space:]]*["']?(${kinds.join("|")})`

export const isPage = (name: string): boolean => PAGE.test(name)

/** Whether its name says that it is compressed. */
export const isCompressed = (name: string): boolean => PACKED.test(name)

export const COMPRESSED = "it is compressed or encrypted; unpack it"

/** The kind of a document in the file. Undefined if it contains none of the kinds. */
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
  // Without its NUL bytes, UTF-16 text contains the words that are searched for.
  const text = bytes.toString("latin1").replaceAll("\0", "")
  return new RegExp(`\\bkind["']?\\s*:\\s*["']?(${kinds.join("|")})\\b`).exec(text)?.[1]
}

export const otherName = (kind: string): string =>
  `it holds a \`${kind}\`, and its name does not end in .yaml, .yml or .json`
