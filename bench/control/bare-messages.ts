// SPDX-License-Identifier: Apache-2.0
// The orders for the bare TLS server and its clients, and how much they send to each other.

export interface BareServerOrder {
  readonly chain: string
  readonly privateKey: string
  readonly bundle: string
}

export interface BareClientsOrder extends BareServerOrder {
  readonly port: number
  readonly connections: number
}

/**
 * Sizes that were observed on the wire for a policy change of this benchmark: a response with its frame, and its
 * acknowledgement.
 */
export const PUSH_BYTES = 575
export const ANSWER_BYTES = 82
