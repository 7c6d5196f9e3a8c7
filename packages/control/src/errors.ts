// SPDX-License-Identifier: Apache-2.0
// What can go wrong while the control plane runs: one closed table of codes, each with what happened and what to do. What
// an API server refuses is not here: that is in its own words, by status and reason.

export const CONTROL_FAULTS = {
  "kubeconfig-unreadable": {
    means: "the kubeconfig is missing, may not be read or is no YAML",
    next: "name one with `--kubeconfig` or KUBECONFIG that exists and can be read",
  },
  "kubeconfig-invalid": {
    means: "the kubeconfig does not say which server to talk to, or how",
    next: "write the context, cluster or user that the message misses, or choose another with `--context`",
  },
  "no-api": {
    means: "there is no Kubernetes API to talk to",
    next: "name one with `--kubeconfig` or KUBECONFIG, or start one with `merlond cluster`",
  },
  "credentials-unreadable": {
    means: "a file with a token, key or certificate for the API cannot be read",
    next: "see that the file is there and that this process may read it",
  },
  "credential-program": {
    means: "the program that yields the credentials failed or answered what cannot be used",
    next: "run it by hand as the kubeconfig has it; the message says what it answered",
  },
  NoCredentials: {
    means: "a request was not sent, since there are no credentials for it",
    next: "the message says which file or program failed to give them",
  },
  Unreachable: {
    means: "the API server did not answer",
    next: "see that it runs, and that address and `certificate-authority` are right; what was known stays in force",
  },
  Timeout: {
    means: "the API server did not answer in time",
    next: "look at its load and the network; what was known stays in force",
  },
  BadAnswer: {
    means: "what answered is not an API server, or not as one answers",
    next: "check the address, and what stands in between",
  },
  TooLarge: {
    means: "the API server answered more than is taken",
    next: "find the objects that are so large",
  },
  Closed: {
    means: "a request came while the control plane was stopping",
    next: "nothing; nothing was sent",
  },
  "root-unusable": {
    means: "the mesh's root, or the authority that was plugged in, is there and cannot be used",
    next: "mend or restore it; nothing is overwritten, as it may be the only copy",
  },
  "root-ended": {
    means: "the time of the mesh's root is over, and nobody trusts what it signs",
    next: "check the clock; where it is right, say that it is to be replaced as the message tells",
  },
  "root-gone": {
    means: "the Secret with the mesh's root was deleted while in use, or comes and goes",
    next: "find out what deletes it, and restore it",
  },
  "root-foreign": {
    means: "the Secret holds a root that is not this mesh's",
    next: "find out who wrote it, and restore the one before",
  },
  "root-contended": {
    means: "the Secret with the mesh's root changes faster than it can be written",
    next: "find out who else writes it",
  },
  stopped: {
    means: "the control plane was stopped while it waited for a new root",
    next: "nothing; start it again",
  },
} as const satisfies Record<string, { readonly means: string; readonly next: string }>

export type ControlErrorCode = keyof typeof CONTROL_FAULTS

/** No way to talk to an API. */
export type ConnectionCode =
  | Extract<ControlErrorCode, `kubeconfig-${string}`>
  | "no-api"
  | "credentials-unreadable"
  | "credential-program"
/** No answer of an API server, in the form of its own reasons. */
export type NoAnswerCode = Exclude<ControlErrorCode, ConnectionCode | AuthorityCode>
export type AuthorityCode = Extract<ControlErrorCode, `root-${string}`> | "stopped"
