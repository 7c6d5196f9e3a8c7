// SPDX-License-Identifier: Apache-2.0
// An error as one sentence for whoever typed the command.

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") return `${error.message}; another program listens there, choose another port`
  if (code === "EACCES" && "syscall" in error && error.syscall === "listen")
    return `${error.message}; a port below 1024 needs privileges`
  if (code === "ENOSPC" || code === "EDQUOT") return `${error.message}; make room on the disk, then again`
  return error.message
}
