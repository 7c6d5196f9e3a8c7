// SPDX-License-Identifier: Apache-2.0
// The built page, held in memory with its types and compressed once, on the first request. Names of everything but the
// page itself contain a digest of their content, so browsers may cache them forever.

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

/** Compressing everything is a good part of the start-up time, and most processes end before the page is opened. */
class BuiltFile implements Asset {
  #brotli: Buffer | undefined

  constructor(
    readonly type: string,
    readonly plain: Buffer,
  ) {}

  get brotli(): Buffer {
    this.#brotli ??= brotliCompressSync(this.plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
    return this.#brotli
  }
}

/** Builds the assets from names and contents of the built files. */
export function assetsOf(built: Iterable<readonly [name: string, content: Buffer]>): Assets | undefined {
  const contents = new Map(built)
  const page = contents.get(PAGE)
  if (page === undefined) return undefined
  const files = new Map<string, Asset>()
  for (const [name, plain] of contents) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    files.set(name, new BuiltFile(type, plain))
  }
  return { page: page.toString("utf8"), files }
}
