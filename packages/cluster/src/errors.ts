// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong while running the server itself, as a closed union of codes. Refusals of requests are ApiErrors.

export const clusterErrors = {
  STORE_LOCKED: "the data folder is in use by another process or cannot be opened",
  STORE_FORMAT: "the store was written by another version",
  STORE_CLOSED: "a write came after the store was closed",
  STORE_UNREACHABLE: "no etcd endpoint answers; nothing was written",
  STORE_UNCERTAIN: "the connection to etcd was lost before it said whether a write happened",
  STORE_REFUSED: "etcd refused the request, for its size, its number of writes or for want of permission",
  LISTEN_FAILED: "the address cannot be listened on",
  FLAG_INVALID: "a command line flag is unknown or has a bad value",
} as const

export type ClusterErrorCode = keyof typeof clusterErrors

export class ClusterError extends Error {
  constructor(
    readonly code: ClusterErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
