// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong while running the server itself: one closed table of codes, each with what happened and what to do.
// Refusals of requests are not here: they are Kubernetes' Status objects, by code and reason (meta/status.ts).

export interface ClusterFault {
  readonly means: string
  readonly next: string
}

export const CLUSTER_FAULTS = {
  STORE_LOCKED: {
    means: "the data folder is in use by another process or cannot be opened",
    next: "stop the other process, or give this one a `--data` folder of its own that it may write",
  },
  STORE_FORMAT: {
    means: "the store was written by another version",
    next: "start the version that wrote it, or begin with an empty folder and apply your documents again",
  },
  STORE_DAMAGED: {
    means: "the embedded store has lost writes that it had acknowledged, for example after a disk error",
    next: "restore a backup (docs/operations/backup.md), or accept the loss: `merlond repair-store FOLDER` shows what can be kept",
  },
  STORE_CLOSED: {
    means: "a write came after the store was closed",
    next: "nothing was written; send it again once the server is up",
  },
  STORE_UNWRITABLE: {
    means: "the disk did not take a write; everything can still be read",
    next: "make room, or mend the disk; writes go on by themselves then",
  },
  STORE_UNREACHABLE: {
    means: "no etcd endpoint answers; nothing was written",
    next: "check that etcd runs and that `--etcd` and its certificates are right",
  },
  STORE_UNCERTAIN: {
    means: "the connection to etcd was lost before it said whether a write happened",
    next: "read the object again: the write may have happened",
  },
  STORE_REFUSED: {
    means: "etcd refused the request, for its size, its number of writes or for want of permission",
    next: "send less at once, or give the user of `--etcd-user` the right to read and write under its prefix",
  },
  STORE_KEYS: {
    means: "the etcd holds the objects of servers that have other keys than this one",
    next: "copy the folder `pki` from the data folder of one that runs, or name another `--etcd-prefix`",
  },
  LISTEN_FAILED: {
    means: "the address cannot be listened on",
    next: "choose another `--port`, or stop who has it; ports below 1024 need rights of their own",
  },
  FLAG_INVALID: {
    means: "a command line flag is unknown or has a bad value",
    next: "`--help` lists the flags and their values",
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
