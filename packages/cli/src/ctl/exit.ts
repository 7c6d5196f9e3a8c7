// SPDX-License-Identifier: Apache-2.0
// How a command ends, for scripts. Whatever is thrown and is none of these ends with 1.

export const EXIT = {
  ok: 0,
  /** Something asked for was refused, is not there, or is not valid. */
  failed: 1,
  /** The command line itself cannot be read; nothing was done. */
  usage: 2,
  /** There is no API to talk to, or it does not answer. */
  unreachable: 3,
  /** A question could not be answered within its budget, or not exactly. */
  undecided: 4,
  /** Something was found that was looked for: a change, a broken statement, a finding. */
  found: 5,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

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
