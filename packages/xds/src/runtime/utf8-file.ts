// SPDX-License-Identifier: Apache-2.0
// The text of a file that says what to do. What is written in another encoding is refused: read as if it were UTF-8, it
// would say something else than its writer sees.

import { isUtf8 } from "node:buffer"
import { readFileSync } from "node:fs"

export function readUtf8File(path: string): string {
  const bytes = readFileSync(path)
  if (!isUtf8(bytes)) throw new Error("it is not in UTF-8; save it as UTF-8")
  return bytes.toString("utf8")
}
