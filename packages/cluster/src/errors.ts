// SPDX-License-Identifier: Apache-2.0
// Errors of running the API server itself: one closed table of codes, each with its cause and its fix. Rejected
// requests are not here. They are Kubernetes Status objects with a code and a reason (meta/status.ts).

export interface ClusterErrorEntry {
  readonly cause: string
  readonly fix: string
}

export const CLUSTER_ERRORS = {
  "store-locked": {
    cause: "another process uses the data folder, or it cannot be opened",
    fix: "stop the other process, or pass another writable folder with `--data`",
  },
  "store-format": {
    cause: "another version wrote the store",
    fix: "run the version that wrote it, or start with an empty folder and apply your documents again",
  },
  "store-damaged": {
    cause: "the embedded store has lost acknowledged writes, for example after a disk error",
    fix: "restore a backup (docs/operations/backup.md), or accept the loss: `merlond repair-store FOLDER` shows what remains",
  },
  "store-closed": {
    cause: "a write arrived after the store was closed",
    fix: "none was written; retry when the server is up",
  },
  "store-unwritable": {
    cause: "the disk rejected a write; reads still work",
    fix: "free space or repair the disk; writes then resume",
  },
  "store-unreachable": {
    cause: "no etcd endpoint responds; nothing was written",
    fix: "check that etcd runs, and `--etcd` and its certificates",
  },
  "store-uncertain": {
    cause: "the connection to etcd broke before it confirmed a write",
    fix: "read the object again: the write may have happened",
  },
  "store-rejected": {
    cause: "etcd rejected the request because of its size, its number of writes or missing permissions",
    fix: "send less at once, or grant the user in `--etcd-user` read and write access to its prefix",
  },
  "store-keys": {
    cause: "the etcd holds objects of servers with other keys",
    fix: "copy the folder `pki` from the data folder of a running server, or choose another `--etcd-prefix`",
  },
  "listen-failed": {
    cause: "the server cannot listen on the address",
    fix: "choose another `--port`, or stop the program that uses it; ports below 1024 need privileges",
  },
  "invalid-flag": {
    cause: "a command line flag is unknown or has an invalid value",
    fix: "run with `--help` to list the flags and their values",
  },
} as const satisfies Record<string, ClusterErrorEntry>

export type ClusterErrorCode = keyof typeof CLUSTER_ERRORS

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
