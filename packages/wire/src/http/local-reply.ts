// SPDX-License-Identifier: Apache-2.0
// An answer that the proxy gives itself, whole, instead of the server behind it.

import type { FieldPairs } from "./fields.js"

export interface LocalReply {
  readonly status: number
  /** In latin1; `text/plain`. */
  readonly body: string
  readonly fields: FieldPairs
}
