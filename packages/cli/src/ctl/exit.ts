// SPDX-License-Identifier: Apache-2.0
// How a command ends, for scripts. Whatever is thrown and is none of these ends with 1.

import type { ExitCode } from "../errors.js"

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  undecided: 4,
  found: 5,
} as const satisfies Record<string, ExitCode>

/** Ends the command with one sentence that says what to do next. */
export class CommandError extends Error {
  override readonly name = "CommandError"
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage)
}
