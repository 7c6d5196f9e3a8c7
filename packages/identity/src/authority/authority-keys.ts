// SPDX-License-Identifier: Apache-2.0
// The keys and certificates of an authority, as stored in Secrets and files.

export interface AuthorityKeys {
  /** PEM: the signing certificate, followed by its issuers. A self-signed root is its own signing certificate. */
  readonly certificateChain: string
  /** PKCS#8, PEM; the key of the signing certificate. */
  readonly privateKey: string
  /** PEM: the root, followed by any other trusted roots. */
  readonly root: string
}

/** How far certificates are backdated, because the clocks of peers may be behind. */
export const BACKDATE_MS = 2 * 60_000
