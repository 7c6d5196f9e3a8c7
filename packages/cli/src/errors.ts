// SPDX-License-Identifier: Apache-2.0
// Errors of merlonctl: one closed table of codes, each with its exit code, cause and fix, and the table of exit codes. The
// message names the code as `error[CODE]: ...`. Codes of the connection to the API server are those of the control plane.

import type { ConnectionCode, NoAnswerCode } from "@merlon/control/kubernetes"

export const EXIT_CODES = {
  1: {
    cause: "the command failed: rejected, not found or invalid",
    fix: "read the message on standard error",
  },
  2: {
    cause: "the command line is invalid; nothing was done",
    fix: "run the command with `--help` to list its flags",
  },
  3: {
    cause: "no cluster is configured, or it does not respond",
    fix: "start a local mesh with `merlonctl up`, or pass a cluster with `--kubeconfig`",
  },
  4: {
    cause: "the result is incomplete: the time budget ran out, or some input was skipped or could not be read",
    fix: "check `skipped`, raise `--budget` or narrow the question; never treat it as success",
  },
  5: {
    cause: "the command found what it looks for: a changed decision, a broken invariant, a finding",
    fix: "read the output; in a pipeline, let a person decide",
  },
} as const satisfies Record<number, { readonly cause: string; readonly fix: string }>

export type ExitCode = 0 | keyof typeof EXIT_CODES

export const CLI_ERRORS = {
  usage: {
    exit: 2,
    cause: "a flag or argument is unknown, missing or invalid",
    fix: "run the command with `--help`",
  },
  "no-mesh": {
    exit: 1,
    cause: "no local mesh runs in the data folder",
    fix: "start one with `merlonctl up`, or pass its folder with `--data`",
  },
  "mesh-failed": {
    exit: 1,
    cause: "the local mesh did not start, or its start was interrupted",
    fix: "read the log that the message names, then run `merlonctl up` again",
  },
  "not-built": {
    exit: 1,
    cause: "a part of Merlon is missing from this installation",
    fix: "run `npm run build` in a clone, or install the package again",
  },
  "already-running": {
    exit: 1,
    cause: "a local mesh already runs in the data folder",
    fix: "use it, or stop it with `merlonctl down`",
  },
  "data-in-use": {
    exit: 1,
    cause: "the data folder belongs to another mesh, or another process holds its lock",
    fix: "choose another folder with `--data`, or stop the other mesh with `merlonctl down`",
  },
  "no-history": {
    exit: 1,
    cause: "the control plane keeps no history of policies",
    fix: "start it with `--history-entries 200`, or set `config.historyEntries` in the chart's values",
  },
  "not-certified": {
    exit: 4,
    cause: "the answer was not decided, or certificates cannot express it",
    fix: "read the reason; `docs/evidence.md` lists what certificates cover",
  },
  "port-unavailable": {
    exit: 1,
    cause: "a port or loopback address is in use or not permitted",
    fix: "choose another port, or leave the flag out",
  },
  "process-stuck": {
    exit: 1,
    cause: "a process of the local mesh did not exit when it was killed",
    fix: "check the process with `ps`; a hanging disk or network mount can block it",
  },
  "program-failed": {
    exit: 1,
    cause: "the program of a workload exited or did not listen on its port",
    fix: "read its log with `merlonctl logs NAME`",
  },
  "run-replaced": {
    exit: 1,
    cause: "another command changed or stopped the workload in the meantime",
    fix: "run the command again",
  },
  unauthorized: {
    exit: 1,
    cause: "the server rejected the credentials of the kubeconfig context",
    fix: "log in again, or choose another context with `--context`",
  },
  forbidden: {
    exit: 1,
    cause: "your user lacks the permission for this request",
    fix: "ask an administrator for a Role with the verb and resource that the message names, or choose another context",
  },
  "too-many-requests": {
    exit: 1,
    cause: "the server limits the rate of requests",
    fix: "wait a few seconds and retry",
  },
  "server-unavailable": {
    exit: 3,
    cause: "the server, or a gateway in front of it, responded that it is unavailable",
    fix: "retry; check the server with `merlonctl check`",
  },
  "control-plane-unreachable": {
    exit: 1,
    cause: "the mesh is installed, but its control plane does not respond",
    fix: "run `merlonctl check`",
  },
  "not-installed": {
    exit: 1,
    cause: "the mesh is not installed in this cluster, or only in part",
    fix: "install it with `merlonctl install`, or choose another with `--mesh` and `--domain`",
  },
  "installed-by-helm": {
    exit: 1,
    cause: "Helm installed this mesh, so merlonctl does not change it",
    fix: "use the `helm` command that the message shows",
  },
  "unserved-kind": {
    exit: 1,
    cause: "the cluster does not serve this kind",
    fix: "check the spelling, or install its CustomResourceDefinition",
  },
  "not-found": {
    exit: 1,
    cause: "no such object, workload, log or program",
    fix: "check the name; the message lists similar ones",
  },
  "no-namespace": {
    exit: 1,
    cause: "the namespace does not exist",
    fix: "create it with `kubectl create namespace NAME`",
  },
  "name-taken": {
    exit: 1,
    cause: "another workload or Pod already has this name",
    fix: "choose another name, or remove the other one first",
  },
  "field-conflict": {
    exit: 1,
    cause: "another program owns fields that you want to change",
    fix: "leave those fields to it, or take them over with `--force-conflicts`",
  },
  rejected: {
    exit: 1,
    cause: "the server rejected the request",
    fix: "read the message; a code in brackets at its end is in the section on admission",
  },
  "not-ready": {
    exit: 1,
    cause: "the timeout passed before the object was ready",
    fix: "read its status with `merlonctl get KIND NAME -o yaml`, or raise `--timeout`",
  },
  "not-shadow": {
    exit: 1,
    cause: "the policy is not in shadow mode",
    fix: "nothing to do: it is enforced already",
  },
  "no-traffic": {
    exit: 1,
    cause: "Merlon has observed no allowed calls for these workloads",
    fix: "send some traffic first, or pass recorded calls with `--calls`",
  },
  "no-documents": {
    exit: 1,
    cause: "the input contains no documents",
    fix: "check the path, add `-R` for subfolders, and check the file extension",
  },
  "no-tests": {
    exit: 4,
    cause: "no policy test was found, or none matches the filter",
    fix: "check the path and `--filter`; tests are in files named `NAME.test.yaml`",
  },
  "invalid-document": {
    exit: 1,
    cause: "a document, patch or test file is invalid",
    fix: "correct the field or line that the message names",
  },
  "mixed-dialects": {
    exit: 1,
    cause: "some policies are written for Istio and others for Merlon",
    fix: "ask about each set on its own, or choose one with `--dialect`",
  },
  "unreadable-file": {
    exit: 1,
    cause: "a file is missing, not readable, too large, or not in the expected format",
    fix: "check the path and the format that the message names",
  },
  "outside-roots": {
    exit: 1,
    cause: "a file is outside of the folders that `merlonctl mcp` may read",
    fix: "start the server with `--root FOLDER` for each folder that it may read",
  },
  "no-cluster": {
    exit: 1,
    cause: "a question to `merlonctl mcp` needs a cluster, and the server was started for files only",
    fix: "start the server with `--cluster`, or ask about files",
  },
  "unwritable-file": {
    exit: 1,
    cause: "a file or folder cannot be written",
    fix: "check its permissions and the free disk space",
  },
  "file-exists": {
    exit: 1,
    cause: "the output file exists already",
    fix: "choose another name, or replace it as the message describes",
  },
  "unusable-key": {
    exit: 1,
    cause: "the file has no private key that can sign tokens",
    fix: "create one with `merlonctl jwt keygen`",
  },
  git: {
    exit: 1,
    cause: "git failed to read the revision or folder",
    fix: "run the git command that the message shows, in the same folder",
  },
  "unreachable-url": {
    exit: 3,
    cause: "a URL could not be fetched",
    fix: "check the URL, the network and its certificate",
  },
  "invalid-invitation": {
    exit: 1,
    cause: "the invitation is incomplete or damaged",
    fix: "copy the whole line, or create a new one with `merlonctl invite`",
  },
  "invitation-rejected": {
    exit: 1,
    cause: "the control plane did not accept the invitation",
    fix: "create a new one with `merlonctl invite`; each expires and works for one workload",
  },
  unexpected: {
    exit: 1,
    cause: "an error that merlonctl did not expect, usually from the operating system",
    fix: "read the message; if it makes no sense, report it with the command that you ran",
  },
} as const satisfies Record<string, { readonly exit: ExitCode; readonly cause: string; readonly fix: string }>

export type CommandErrorCode = keyof typeof CLI_ERRORS | ConnectionCode | NoAnswerCode

/**
 * Findings about rules that only a proof gives. `merlonctl analyze` reports them beside those of the policy library.
 */
export const PROVED_FINDINGS = {
  "dead-rule": {
    severity: "warning",
    cause: "every request is decided the same way with and without the rule (verified)",
    fix: "remove the rule",
  },
  "not-decided": {
    severity: "info",
    cause: "the time budget ran out before Merlon could verify whether the rule has an effect",
    fix: "run the command again with a longer `--budget`",
  },
  "broken-invariant": {
    severity: "error",
    cause:
      "the policies allow a request that a PolicyInvariant never allows, or deny one that it always allows (verified)",
    fix: "change the policy that decides the request, or the invariant",
  },
  "invariant-not-decided": {
    severity: "info",
    cause:
      "Merlon could not verify whether the invariant holds: it depends on something unknown, or the time budget ran out",
    fix: "read the reason; name the workloads with `--workloads`, or use a longer `--budget`",
  },
} as const
