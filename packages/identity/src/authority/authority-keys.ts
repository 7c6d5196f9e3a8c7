// SPDX-License-Identifier: Apache-2.0
// The keys and certificates of an authority, as stored in Secrets and files.

export interface AuthorityKeys {
  /** PEM: the signing certificate, then those above it. A self-signed root stands here itself. */
  readonly certificateChain: string
  /** PKCS#8, PEM; of the signing certificate. */
  readonly privateKey: string
  /** PEM: the root, with any others that are to be trusted beside it. */
  readonly root: string
}

/** Certificates are good a little before they are made: clocks of peers lag. */
export const BACKDATE_MS = 2 * 60_000
