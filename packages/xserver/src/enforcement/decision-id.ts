// SPDX-License-Identifier: Apache-2.0
// Ids of denials: unguessable, so that only the denied caller knows one, and short enough to read out.

import { randomFillSync } from "node:crypto"

const ID_BYTES = 10
const POOL = Buffer.alloc(ID_BYTES * 256)
let used = POOL.length

export function newDecisionId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  used += ID_BYTES
  return POOL.toString("hex", used - ID_BYTES, used)
}
