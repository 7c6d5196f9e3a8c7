// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong while running the server itself: one closed table of codes, each with what happened and what to do.
// Refusals of requests are not here: they are Kubernetes' Status objects, by code and reason (meta/status.ts).

export interface ClusterFault {
  readonly happened: string
  readonly remedy: string
}

export const CLUSTER_FAULTS = {
  STORE_LOCKED: {
    happened: "the data folder is in use by another process or cannot be opened",
    remedy: "stop the other process, or give this one a `--data` folder of its own that it may write",
  },
  STORE_FORMAT: {
    happened: "the store was written by another version",
    remedy: "start the version that wrote it, or begin with an empty folder and apply your documents again",
  },
  STORE_CLOSED: {
    happened: "a write came after the store was closed",
    remedy: "nothing was written; send it again once the server is up",
  },
  STORE_UNREACHABLE: {
    happened: "no etcd endpoint answers; nothing was written",
    remedy: "check that etcd runs and that `--etcd` and its certificates are right",
  },
  STORE_UNCERTAIN: {
    happened: "the connection to etcd was lost before it said whether a write happened",
    remedy: "read the object again: the write may have happened",
  },
  STORE_REFUSED: {
    happened: "etcd refused the request, for its size, its number of writes or for want of permission",
    remedy: "send less at once, or give the user of `--etcd-user` the right to read and write under its prefix",
  },
  LISTEN_FAILED: {
    happened: "the address cannot be listened on",
    remedy: "choose another `--port`, or stop who has it; ports below 1024 need rights of their own",
  },
  FLAG_INVALID: {
    happened: "a command line flag is unknown or has a bad value",
    remedy: "`--help` lists the flags and their values",
  },
} as const satisfies Record<string, ClusterFault>

export type ClusterErrorCode = keyof typeof CLUSTER_FAULTS

export class ClusterError extends Error {
  override readonly name = "ClusterError"

  constructor(
    readonly code: ClusterErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
