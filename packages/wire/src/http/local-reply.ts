// SPDX-License-Identifier: Apache-2.0
// A complete response of the proxy itself, instead of the server's.

import type { FieldPairs } from "./fields.js"

export interface LocalReply {
  readonly status: number
  /** As latin1 characters. */
  readonly body: string
  /** Default `text/plain`. */
  readonly contentType?: string
  readonly fields: FieldPairs
}
