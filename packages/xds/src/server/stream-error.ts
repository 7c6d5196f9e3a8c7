// SPDX-License-Identifier: Apache-2.0
// Why a stream or call ends early, as a gRPC status.

import type { CallErrorCode } from "../errors.js"

export interface StreamError {
  readonly code: CallErrorCode
  readonly message: string
}

export const exhausted = (message: string): StreamError => ({ code: "RESOURCE_EXHAUSTED", message })
export const invalid = (message: string): StreamError => ({ code: "INVALID_ARGUMENT", message })
