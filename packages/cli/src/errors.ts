// SPDX-License-Identifier: Apache-2.0
// How a command can end other than well: one closed table by exit code, each with what happened and what to do. The
// sentence for a person goes to standard error; these are for scripts.

export const CLI_FAULTS = {
  1: {
    means: "something asked for was refused, is not there, or is not valid",
    next: "standard error has the sentence, and what to do",
  },
  2: {
    means: "the command line itself cannot be read; nothing was done",
    next: "`--help` lists the flags and their values",
  },
  3: {
    means: "there is no API to talk to, or it does not answer",
    next: "name one with `--kubeconfig`, or start one with `merlonctl up`; then again",
  },
  4: {
    means:
      "a question could not be answered within its budget, or not exactly; or something was skipped that could matter, or there was nothing to read",
    next: "read what was `skipped`, ask for less, or again with a longer `--budget`; take it for no answer, never for a good one",
  },
  5: {
    means: "something was found that was looked for: a change, a broken statement, a finding",
    next: "read the output; in a pipeline this is where a person decides",
  },
} as const satisfies Record<number, { readonly means: string; readonly next: string }>

export type ExitCode = 0 | keyof typeof CLI_FAULTS
