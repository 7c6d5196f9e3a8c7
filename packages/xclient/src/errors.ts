// SPDX-License-Identifier: Apache-2.0
// The reasons for which a call got no response: one closed table of codes, each with the HTTP status of the proxy's
// reply, its cause and its fix. The reply carries the code in its failure header.

export const XCLIENT_ERRORS = {
  "no-route": {
    status: 502,
    cause: "no route of the host matches the request, or the proxy has not received the trust bundle yet",
    fix: "add a matching route to the host's MeshService",
  },
  "not-in-mesh": {
    status: 502,
    cause: "the host is not in the mesh",
    fix: "check the host name, or allow external hosts with `--allow-external`",
  },
  "route-unknown": {
    status: 503,
    cause: "the proxy has not received the routes of the host yet",
    fix: "retry; if it persists, check that the control plane runs",
  },
  "mtls-unknown": {
    status: 503,
    cause: "the destination requires mTLS, and the proxy has not received its endpoints yet",
    fix: "retry; if it persists, check that the control plane runs",
  },
  "registry-only": {
    status: 502,
    cause: "the outbound policy is REGISTRY_ONLY, and the destination is neither in the cluster nor in a MeshService",
    fix: "add the destination to a MeshService, or set the outbound policy of the namespace to ALLOW_ANY",
  },
  "no-endpoint": {
    status: 503,
    cause: "the destination has no endpoints",
    fix: "check that its Pods or workloads exist and are ready",
  },
  "no-transport": {
    status: 503,
    cause: "no endpoint accepts the transport that its mTLS mode requires",
    fix: "check that both sides have certificates, and the mTLS mode of the port",
  },
  unreachable: {
    status: 503,
    cause: "the proxy could not connect to any endpoint, or no endpoint presented the expected identity",
    fix: "check that the server runs; the message has the address and the reason",
  },
  "cut-off": {
    status: 502,
    cause: "the connection closed before the response was complete, or the response could not be forwarded",
    fix: "read the log of the server",
  },
  "not-captured": {
    status: 400,
    cause: "a program connected directly to the port for captured connections",
    fix: "call the service by its name; its connections are redirected",
  },
  "captured-loop": {
    status: 503,
    cause: "a connection of the proxy was redirected back to the proxy",
    fix: "run the proxy with the user ID that the capture rules exempt; see `merlond capture --print`",
  },
  "other-user": {
    status: 403,
    cause: "a program of another user on this machine called through the workload's proxy",
    fix: "run the program as the user of the proxy",
  },
  "bad-request": {
    status: 400,
    cause: "the request is malformed and cannot be sent",
    fix: "correct it as the message describes",
  },
  "too-late": {
    status: 504,
    cause: "no response arrived before the timeout",
    fix: "check the server, or raise the timeout of the route",
  },
  overflow: {
    status: 503,
    cause: "the calls to the destination have reached a limit of its MeshService's `connectionPool`",
    fix: "send fewer requests at once, or raise the limit that the message names",
  },
  "too-many": {
    status: 503,
    cause: "too many concurrent requests",
    fix: "send fewer requests at once, or raise the proxy's limit",
  },
} as const satisfies Record<string, { readonly status: number; readonly cause: string; readonly fix: string }>

export type CallFailureCode = keyof typeof XCLIENT_ERRORS
