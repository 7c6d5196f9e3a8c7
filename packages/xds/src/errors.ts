// SPDX-License-Identifier: Apache-2.0
// Everything that can go wrong between proxy and control plane: one closed table of codes, each with what happened and what to do. Streams and
// calls end with a code of gRPC, in capitals; the others are of files and messages that cannot be read.

export const XDS_FAULTS = {
  UNAUTHENTICATED: {
    means: "the caller gave no proof of who it is, or one that is not valid or not any more",
    next: "give it a fresh token or a certificate of this mesh, and check that the clocks agree",
  },
  PERMISSION_DENIED: {
    means: "the proof is good, and what was asked for is another's",
    next: "ask for the workload that the token or certificate was made for",
  },
  INVALID_ARGUMENT: {
    means: "the request has a form that is refused",
    next: "the message names the part; use proxies of the control plane's version",
  },
  RESOURCE_EXHAUSTED: {
    means: "a limit on streams, names or sizes is reached",
    next: "close what is not needed, or run more replicas; a proxy tries again by itself",
  },
  DEADLINE_EXCEEDED: {
    means: "the other side did not say in time what it had to",
    next: "look at the load of the control plane and the network; a proxy tries again by itself",
  },
  UNAVAILABLE: {
    means: "the control plane is going away, cannot be reached, or cannot check the proof at present",
    next: "see that it runs and reaches its API; a proxy tries again by itself and keeps what it has",
  },
  INTERNAL: {
    means: "the control plane failed, or answered nothing",
    next: "its log has the cause; a proxy tries again by itself and keeps what it has",
  },
  UNKNOWN: {
    means: "the answer has a code that no control plane of ours gives",
    next: "check that the address is the control plane's, and what stands in between",
  },
  "config-unreadable": {
    means: "a configuration file is missing, too long or no YAML",
    next: "name a file that exists and may be read; the message has the cause",
  },
  "config-variable": {
    means: "a configuration takes a value from the environment that is not there",
    next: "set the variable, or write the value",
  },
  "config-field": {
    means: "a configuration has a field that nobody reads",
    next: "write the field that the message names, or leave it out",
  },
  "config-value": {
    means: "a field of a configuration is missing or has a wrong value",
    next: "write what the message says of the field",
  },
  "malformed-resource": {
    means: "a resource from the control plane cannot be read, and what was in force stays",
    next: "the message names the field; run control plane and proxies of one version",
  },
  "unknown-resource": {
    means: "a resource is of a kind that a newer control plane sends, and what was in force stays",
    next: "upgrade the proxy",
  },
} as const satisfies Record<string, { readonly means: string; readonly next: string }>

export type XdsErrorCode = keyof typeof XDS_FAULTS

/** Why a stream or a call ended, in the words of gRPC. */
export type FaultCode = Extract<XdsErrorCode, Uppercase<string>>
export type ConfigurationCode = Extract<XdsErrorCode, `config-${string}`>
export type ResourceCode = Extract<XdsErrorCode, `${string}-resource`>
