// SPDX-License-Identifier: Apache-2.0
// Files that are not read as manifests because of their names: whether one of them holds what a manifest would. Pages that
// only show manifests do not count.

import { open } from "node:fs/promises"

const PAGE = /\.(md|mdx|markdown|adoc|rst|html?)$/i
const MOST = 1 << 20

/** As extended regular expressions of POSIX have it, for git. */
export const kindPattern = (kinds: readonly string[]): string =>
  `kind["']?[[:space:]]*:[[:space:]]*["']?(${kinds.join("|")})`

export const isPage = (name: string): boolean => PAGE.test(name)

/** The kind that the file holds; undefined where it holds none of them. */
export async function kindIn(file: string, kinds: readonly string[]): Promise<string | undefined> {
  if (isPage(file)) return undefined
  const opened = await open(file)
  try {
    const { buffer, bytesRead } = await opened.read({ buffer: Buffer.alloc(MOST), length: MOST, position: 0 })
    const text = buffer.subarray(0, bytesRead).toString("utf8")
    return new RegExp(`\\bkind["']?\\s*:\\s*["']?(${kinds.join("|")})\\b`).exec(text)?.[1]
  } finally {
    await opened.close()
  }
}

export const otherName = (kind: string): string =>
  `it holds a \`${kind}\`, and its name does not end in .yaml, .yml or .json`
