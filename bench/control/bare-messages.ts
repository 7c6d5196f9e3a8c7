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

/** As they were seen on the wire when a policy of the bench changes: a response with its frame, and what accepts it. */
export const PUSH_BYTES = 575
export const ANSWER_BYTES = 82
