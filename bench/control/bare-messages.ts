// SPDX-License-Identifier: Apache-2.0
// What the server and the clients without anything but TLS are told, and how much they say to each other.

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
