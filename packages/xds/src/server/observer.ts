// SPDX-License-Identifier: Apache-2.0
// Callbacks for events of streams and pushes; metrics implement them.

import type { CallErrorCode } from "../errors.js"

export type Protocol = "delta" | "sotw" | "observe"

export interface MeshServerObserver {
  readonly connections?: (open: number) => void
  readonly streams?: (protocol: Protocol, open: number) => void
  readonly denied?: (code: CallErrorCode) => void
  readonly sent?: (
    typeUrl: string,
    sent: { readonly resources: number; readonly removed: number; readonly bytes: number },
  ) => void
  /** Milliseconds from a response to its acknowledgement. */
  readonly acknowledged?: (typeUrl: string, milliseconds: number) => void
  readonly rejected?: (typeUrl: string, nodeId: string, message: string) => void
  readonly overdue?: (typeUrl: string, nodeId: string) => void
  readonly called?: (method: "SignCertificate" | "Report", code: CallErrorCode | "OK") => void
}
