// SPDX-License-Identifier: Apache-2.0
// An error as one sentence for the user.

/**
 * The message with the code that docs/reference/errors.md explains. Codes of Node and of the system are in capitals.
 */
export function labelled(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  const text = describeError(error)
  return typeof code === "string" && /^[a-z-]+$/.test(code) ? `error[${code}]: ${text}` : text
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") return `${error.message}; another program uses it, choose another port`
  if (code === "EACCES" && "syscall" in error && error.syscall === "listen")
    return `${error.message}; a port below 1024 needs privileges`
  if (code === "ENOSPC" || code === "EDQUOT") return `${error.message}; free disk space, then retry`
  return error.message
}
