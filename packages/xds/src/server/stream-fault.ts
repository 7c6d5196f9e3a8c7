// SPDX-License-Identifier: Apache-2.0
// Why a stream or call ends early, as a gRPC status.

import type { FaultCode } from "../errors.js"

export interface StreamFault {
  readonly code: FaultCode
  readonly message: string
}

export const exhausted = (message: string): StreamFault => ({ code: "RESOURCE_EXHAUSTED", message })
export const invalid = (message: string): StreamFault => ({ code: "INVALID_ARGUMENT", message })
