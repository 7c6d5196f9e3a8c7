// SPDX-License-Identifier: Apache-2.0
// The source of the mesh's signing keys: generated and stored in a Secret, or supplied by an operator.

import type { CertificateAuthority, RotationPhase } from "@merlon/identity"
import type { AuthorityCode } from "../errors.js"

export interface SigningKeys {
  /** Signs for workloads. */
  readonly signer: CertificateAuthority
  /** Signs for the control plane's own listeners. */
  readonly server: CertificateAuthority
  /** Every trusted root, in PEM. */
  readonly bundle: string
  readonly phase: RotationPhase
}

export interface KeySource {
  readonly current: SigningKeys
  onChange(listener: () => void): () => void
  /** Await it before you sign a certificate with this lifetime: rotation has to know the longest lifetime. */
  allowTtl(ttlMs: number): Promise<void>
  close(): void
}

/** Why a mesh's root is unusable; the start fails with it. */
export class AuthorityError extends Error {
  override readonly name = "AuthorityError"

  constructor(
    readonly code: AuthorityCode,
    message: string,
  ) {
    super(message)
  }
}
