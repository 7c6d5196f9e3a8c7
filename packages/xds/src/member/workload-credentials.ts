// SPDX-License-Identifier: Apache-2.0
// What proves to others who a workload is.

export interface WorkloadCredentials {
  /** PEM, leaf first. */
  readonly certificateChain: string
  /** PEM. */
  readonly privateKey: string
}
