// SPDX-License-Identifier: Apache-2.0
// Where the mesh's signing keys come from: generated and kept in a Secret, or plugged in by an operator.

import type { CertificateAuthority, RotationPhase } from "@merlon/identity"
import type { AuthorityCode } from "../errors.js"

export interface SigningKeys {
  /** Signs for workloads. */
  readonly signer: CertificateAuthority
  /** Signs for the control plane's own listeners. */
  readonly server: CertificateAuthority
  /** PEM, every root that is trusted. */
  readonly bundle: string
  readonly phase: RotationPhase
}

export interface KeySource {
  readonly current: SigningKeys
  onChange(listener: () => void): () => void
  /** To be awaited before a certificate of this life is signed: rotation has to know how long the longest one lives. */
  allowTtl(ttlMs: number): Promise<void>
  close(): void
}

/** What makes a mesh's roots unusable; start-up ends with it. */
export class AuthorityError extends Error {
  override readonly name = "AuthorityError"

  constructor(
    readonly code: AuthorityCode,
    message: string,
  ) {
    super(message)
  }
}
