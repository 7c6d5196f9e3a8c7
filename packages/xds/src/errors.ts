// SPDX-License-Identifier: Apache-2.0
// Errors between proxy and control plane: one closed table of codes, each with its cause and its fix. Streams and calls
// end with a gRPC status code, in capitals. The other codes are for invalid files and messages.

export const XDS_ERRORS = {
  UNAUTHENTICATED: {
    cause: "the caller sent no credentials, or credentials that are invalid or expired",
    fix: "give the proxy a new token or a certificate of this mesh, and check that the clocks agree",
  },
  PERMISSION_DENIED: {
    cause: "the credentials are valid, but they belong to another workload",
    fix: "use the token or certificate that was issued for this workload",
  },
  INVALID_ARGUMENT: {
    cause: "the request is malformed",
    fix: "run proxies of the same version as the control plane; the message names the field",
  },
  RESOURCE_EXHAUSTED: {
    cause: "a limit on streams, names or sizes is reached",
    fix: "close streams that are not needed, or run more replicas; the proxy retries",
  },
  DEADLINE_EXCEEDED: {
    cause: "the other side did not respond in time",
    fix: "check the load of the control plane and the network; the proxy retries",
  },
  UNAVAILABLE: {
    cause: "the control plane is shutting down, unreachable, or cannot verify credentials at the moment",
    fix: "check that it runs and reaches its API server; the proxy retries and keeps its configuration",
  },
  INTERNAL: {
    cause: "the control plane failed, or sent no response",
    fix: "read its log; the proxy retries and keeps its configuration",
  },
  UNKNOWN: {
    cause: "the response has a status code that no Merlon control plane sends",
    fix: "check that the address is the control plane's, and which gateway is in between",
  },
  "config-unreadable": {
    cause: "a configuration file is missing, too large or not valid YAML",
    fix: "pass a file that exists and is readable; the message has the reason",
  },
  "config-variable": {
    cause: "a configuration file refers to an environment variable that is not set",
    fix: "set the variable, or write the value into the file",
  },
  "config-field": {
    cause: "a configuration file has an unknown field",
    fix: "use the field that the message suggests, or remove it",
  },
  "config-value": {
    cause: "a field of a configuration file is missing or has an invalid value",
    fix: "write a value as the message describes",
  },
  "malformed-resource": {
    cause: "a resource from the control plane is malformed; the proxy keeps the previous one",
    fix: "run the control plane and the proxies in the same version; the message names the field",
  },
  "unknown-resource": {
    cause: "a resource has a type that this version does not know; the proxy keeps the previous one",
    fix: "upgrade the proxy",
  },
} as const satisfies Record<string, { readonly cause: string; readonly fix: string }>

export type XdsErrorCode = keyof typeof XDS_ERRORS

/** gRPC status codes with which a stream or a call ends. */
export type CallErrorCode = Extract<XdsErrorCode, Uppercase<string>>
export type ConfigurationCode = Extract<XdsErrorCode, `config-${string}`>
export type ResourceCode = Extract<XdsErrorCode, `${string}-resource`>
