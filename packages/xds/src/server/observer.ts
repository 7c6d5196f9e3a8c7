// SPDX-License-Identifier: Apache-2.0
// What can be counted about streams and pushes; metrics are somebody else's.

import type { FaultCode } from "../errors.js"

export type Protocol = "delta" | "sotw" | "observe"

export interface MeshServerObserver {
  readonly connections?: (open: number) => void
  readonly streams?: (protocol: Protocol, open: number) => void
  readonly refused?: (code: FaultCode) => void
  readonly sent?: (
    typeUrl: string,
    sent: { readonly resources: number; readonly removed: number; readonly bytes: number },
  ) => void
  /** Milliseconds from a response to its acceptance. */
  readonly acknowledged?: (typeUrl: string, milliseconds: number) => void
  readonly rejected?: (typeUrl: string, nodeId: string, message: string) => void
  readonly overdue?: (typeUrl: string, nodeId: string) => void
  readonly called?: (method: "SignCertificate" | "Report", code: FaultCode | "OK") => void
}
