// SPDX-License-Identifier: Apache-2.0
// Errors of the control plane: one closed table of codes, each with its cause and its fix. Other errors of an API
// server are reported with its own message, by status and reason.

export const CONTROL_ERRORS = {
  "kubeconfig-unreadable": {
    cause: "the kubeconfig is missing, not readable or not valid YAML",
    fix: "pass an existing, readable file with `--kubeconfig` or KUBECONFIG",
  },
  "kubeconfig-invalid": {
    cause: "the kubeconfig lacks the server, user or context to connect with",
    fix: "add the entry that the message names, or choose another context with `--context`",
  },
  "no-api": {
    cause: "no cluster is configured and no local mesh was found",
    fix: "start a local mesh with `merlonctl up`, or pass a cluster with `--kubeconfig` or KUBECONFIG",
  },
  "credentials-unreadable": {
    cause: "a token, key or certificate file for the API server is not readable",
    fix: "check that the file exists and that this user may read it",
  },
  "credential-program": {
    cause: "the credential plugin in the kubeconfig failed, or printed no valid ExecCredential",
    fix: "run the plugin by hand with the arguments from the kubeconfig",
  },
  "api-no-credentials": {
    cause: "a request was not sent because no credentials could be loaded",
    fix: "check the file or plugin that the message names",
  },
  "api-unreachable": {
    cause: "the API server cannot be reached",
    fix: "check that it runs, its address, and `certificate-authority`; proxies keep their configuration meanwhile",
  },
  "api-timeout": {
    cause: "the API server did not respond in time",
    fix: "check its load and the network; proxies keep their configuration meanwhile",
  },
  "api-bad-response": {
    cause: "the response does not come from a Kubernetes API server",
    fix: "check the address, and whether a gateway or login page answers in between",
  },
  "api-response-too-large": {
    cause: "the API server sent a response larger than the limit",
    fix: "find and shrink the large objects",
  },
  "api-client-closed": {
    cause: "a request was made while the program was shutting down",
    fix: "none needed; nothing was sent",
  },
  "root-unusable": {
    cause: "the root CA of the mesh, or the CA that you plugged in, exists but is invalid",
    fix: "repair or restore it; Merlon never overwrites it, because it may be the only copy",
  },
  "root-ended": {
    cause: "the root CA of the mesh has expired, so no peer trusts the certificates it signs",
    fix: "check the clock; if it is right, confirm the replacement as the message describes",
  },
  "root-gone": {
    cause: "the Secret with the root CA was deleted while in use",
    fix: "find out what deletes it, and restore it",
  },
  "root-foreign": {
    cause: "the Secret contains the root CA of another mesh",
    fix: "find out who wrote it, and restore the previous one",
  },
  "root-contended": {
    cause: "the Secret with the root CA changes faster than it can be written",
    fix: "find out what else writes it",
  },
  stopped: {
    cause: "the control plane was stopped while it waited for a new root CA",
    fix: "start it again",
  },
} as const satisfies Record<string, { readonly cause: string; readonly fix: string }>

export type ControlErrorCode = keyof typeof CONTROL_ERRORS

/** Why admission rejects a request. The message that the API server shows ends with the code in brackets. */
export const ADMISSION_ERRORS = {
  "invalid-policy": {
    cause: "the API server rejected a policy because fields are missing or invalid",
    fix: "correct the fields that the message lists; each comes with its fix",
  },
  "invariant-violation": {
    cause: "the change would break an enforced PolicyInvariant, or Merlon could not verify in time that it holds",
    fix: "change or keep the policy; if the invariant is no longer wanted, change it first; `merlonctl diff -f FILE` analyzes longer",
  },
  "injection-failed": {
    cause: "the Pod is in the mesh, but no xserver can be injected into it",
    fix: "change the Pod as the message describes, or opt it out with the injection label",
  },
  "unprotected-pod": {
    cause: "the namespace requires injection, and the Pod could be reached without its xserver",
    fix: "change the Pod as the message describes, or create it in a namespace that does not require injection",
  },
  "invalid-revocations": {
    cause: "the ConfigMap of revoked certificates has entries that cannot be read",
    fix: "correct the entries that the message lists",
  },
  "validation-failed": {
    cause: "the control plane failed while it validated the object, so it rejected it",
    fix: "read the log of the control plane; `merlonctl check` shows its state",
  },
  "wrong-webhook": {
    cause: "the API server asked Merlon to validate a kind that is not Merlon's",
    fix: "run `merlonctl install` again to restore the webhook configuration",
  },
} as const satisfies Record<string, { readonly cause: string; readonly fix: string }>

export type AdmissionErrorCode = keyof typeof ADMISSION_ERRORS

/** No connection to an API server can be configured. */
export type ConnectionCode =
  | Extract<ControlErrorCode, `kubeconfig-${string}`>
  | "no-api"
  | "credentials-unreadable"
  | "credential-program"
/** The API server sent no usable response. */
export type NoAnswerCode = Extract<ControlErrorCode, `api-${string}`>

export function isNoAnswerCode(code: string): code is NoAnswerCode {
  return code.startsWith("api-") && Object.hasOwn(CONTROL_ERRORS, code)
}

export type AuthorityCode = Extract<ControlErrorCode, `root-${string}`> | "stopped"
