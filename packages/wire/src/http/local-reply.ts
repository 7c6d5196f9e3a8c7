// SPDX-License-Identifier: Apache-2.0
// A complete response of the proxy itself, instead of the server's.

import type { FieldPairs } from "./fields.js"

export interface LocalReply {
  readonly status: number
  /** In latin1. */
  readonly body: string
  /** `text/plain` where absent. */
  readonly contentType?: string
  readonly fields: FieldPairs
}
