// SPDX-License-Identifier: Apache-2.0
// How a command exits: an exit code, and for an error a code of the catalogue (docs/reference/errors.md).

import { CLI_ERRORS, type CommandErrorCode, type ExitCode } from "../errors.js"

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  undecided: 4,
  found: 5,
} as const satisfies Record<string, ExitCode>

/** Ends the command with a message that says what happened and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError"
  readonly code: CommandErrorCode

  constructor(code: CommandErrorCode, message: string) {
    super(message)
    this.code = code
  }

  get exitCode(): ExitCode {
    const found = Object.entries(CLI_ERRORS).find(([code]) => code === this.code)?.[1]
    // Every code that the CLI shares with the control plane means that the API server is unavailable.
    return found?.exit ?? EXIT.unreachable
  }
}

export function usageError(message: string): CommandError {
  return new CommandError("usage", message)
}
