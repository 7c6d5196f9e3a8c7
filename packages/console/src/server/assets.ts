// SPDX-License-Identifier: Apache-2.0
// The built page, held in memory with its types, compressed once. Names of everything but the page itself carry a digest of
// their content, so browsers may keep them for good.

import { extname } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"

export interface Asset {
  readonly type: string
  readonly plain: Buffer
  readonly brotli: Buffer
}

export interface Assets {
  /** The page, with `NONCE` where a style's nonce belongs. */
  readonly page: string
  readonly files: ReadonlyMap<string, Asset>
}

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".png": "image/png",
}

export const PAGE = "index.html"

/** From the names and contents of the built files. */
export function assetsOf(built: Iterable<readonly [name: string, content: Buffer]>): Assets | undefined {
  const contents = new Map(built)
  const page = contents.get(PAGE)
  if (page === undefined) return undefined
  const files = new Map<string, Asset>()
  for (const [name, plain] of contents) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const brotli = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
    files.set(name, { type, plain, brotli })
  }
  return { page: page.toString("utf8"), files }
}
