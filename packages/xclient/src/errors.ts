// SPDX-License-Identifier: Apache-2.0
// Why a call did not get an answer: one closed table of codes, each with the status a proxy replies with, what happened
// and what to do.

export const XCLIENT_FAULTS = {
  "no-route": {
    status: 502,
    means: "no route of the host takes the request, or nothing is known of the mesh's trust yet",
    next: "add a route that matches it to the host's MeshService",
  },
  "not-in-mesh": {
    status: 502,
    means: "the host is none that the mesh knows",
    next: "check its name, or let such requests through with `--allow-external`",
  },
  "route-unknown": {
    status: 503,
    means: "the control plane has not said yet how to reach the host",
    next: "try again; where it lasts, see that the control plane runs",
  },
  "mtls-unknown": {
    status: 503,
    means: "the destination demands mutual TLS, and the control plane has not said yet how to reach it",
    next: "try again; where it lasts, see that the control plane runs",
  },
  "registry-only": {
    status: 502,
    means:
      "the outbound policy is REGISTRY_ONLY, and the destination is neither in the cluster nor named by a MeshService",
    next: "name the destination in a MeshService, or set the outbound policy of the namespace to ALLOW_ANY",
  },
  "no-endpoint": {
    status: 503,
    means: "the destination has no endpoints",
    next: "see that its Pods or workloads are there and ready",
  },
  "no-transport": {
    status: 503,
    means: "no endpoint can be talked to as its port's mode demands",
    next: "see that both sides have certificates, and which mode the port has",
  },
  unreachable: {
    status: 503,
    means: "no endpoint could be connected to, or none proved to be the one that was meant",
    next: "the message has the address and the cause; see that the server runs",
  },
  "cut-off": {
    status: 502,
    means: "the connection ended before there was a whole answer, or the answer could not be passed on",
    next: "look at the server's log",
  },
  "not-captured": {
    status: 400,
    means: "a program connected to the port for captured connections itself",
    next: "call the service by its own name; connections to it are redirected",
  },
  "captured-loop": {
    status: 503,
    means: "a connection that the proxy made was redirected back to it",
    next: "run the proxy with the user id that the rules exempt, see `merlond capture --print`",
  },
  "other-user": {
    status: 403,
    means: "a program of another user of the machine called through the proxy of a workload",
    next: "run the program as the user that the proxy runs as",
  },
  "bad-request": {
    status: 400,
    means: "the request cannot be sent as it is",
    next: "write it as the message says",
  },
  "too-late": {
    status: 504,
    means: "there was no answer in time",
    next: "look at the server, or allow more time",
  },
  "too-many": {
    status: 503,
    means: "too many requests are under way",
    next: "send fewer at once, or raise the proxy's limit",
  },
} as const satisfies Record<string, { readonly status: number; readonly means: string; readonly next: string }>

export type CallFailureCode = keyof typeof XCLIENT_FAULTS
