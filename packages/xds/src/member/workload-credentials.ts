// SPDX-License-Identifier: Apache-2.0
// The credentials that prove a workload's identity.

export interface WorkloadCredentials {
  /** PEM, leaf first. */
  readonly certificateChain: string
  /** PEM. */
  readonly privateKey: string
}
