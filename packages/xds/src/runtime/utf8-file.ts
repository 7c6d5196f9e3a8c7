// SPDX-License-Identifier: Apache-2.0
// Reads a configuration file as text. Encodings other than UTF-8 are rejected: decoded as UTF-8, the file would mean
// something else than its author sees.

import { isUtf8 } from "node:buffer"
import { readFileSync } from "node:fs"

export function readUtf8File(path: string): string {
  const bytes = readFileSync(path)
  if (!isUtf8(bytes)) throw new Error("it is not in UTF-8; save it as UTF-8")
  return bytes.toString("utf8")
}
