// SPDX-License-Identifier: Apache-2.0
// Errors of the inbound proxy: unusable certificates, and requests it rejects itself. One closed table of codes, each
// with its cause and its fix. A request that a policy or a token denies is reported with the rule, or with the token
// error.

export const XSERVER_ERRORS = {
  "no-root": {
    cause: "the trust bundle contains no certificate; the proxy keeps the previous one",
    fix: "pass the root certificates of the mesh as PEM",
  },
  "no-certificate": {
    cause: "the certificate chain contains no certificate; the proxy keeps the previous one",
    fix: "pass the workload's certificate as PEM, leaf first",
  },
  "no-identity": {
    cause: "the certificate does not have exactly one SPIFFE ID; the proxy keeps the previous one",
    fix: "use a certificate that the mesh signed",
  },
  "wrong-key": {
    cause: "the private key does not belong to the certificate; the proxy keeps the previous pair",
    fix: "pass the key of that certificate",
  },
  "bad-certificate": {
    cause: "a certificate or key is malformed or not usable; the proxy keeps the previous one",
    fix: "pass PEM; the message has the reason",
  },
  malformed: {
    cause: "the request is not valid HTTP",
    fix: "check what the caller sends: it is malformed, or not HTTP",
  },
  transport: {
    cause: "the caller used plaintext where the mTLS mode is STRICT, or TLS where it is DISABLE",
    fix: "give the caller a sidecar, or change the mTLS mode with a PeerAuthentication",
  },
  revoked: {
    cause: "the caller's certificate is revoked, or its root CA is no longer trusted",
    fix: "issue a new certificate to the caller, or remove the entry from the revocation list",
  },
  path: {
    cause: "the request path cannot be normalized",
    fix: "send a path without escaped control characters and without a raw `#`",
  },
  "evaluation-failed": {
    cause: "evaluating the policies failed",
    fix: "read the proxy's log; the request is denied, as is every request that cannot be evaluated",
  },
  upgrade: {
    cause: "the port does not allow this protocol upgrade",
    fix: "add the protocol to the `upgrades` of the port",
  },
  undecided: {
    cause: "the client sent too few bytes in time to detect the protocol",
    fix: "declare the protocol of the port",
  },
  "http-needed": {
    cause: "a policy of this port has HTTP conditions, and the connection is not HTTP",
    fix: "declare the port `tcp`",
  },
  "hidden-request": {
    cause: "a connection that is not HTTP contains bytes that an HTTP server could read as a request",
    fix: "declare the protocol of the port, so that Merlon does not have to detect it",
  },
  "http-answer": {
    cause: "the application sent an HTTP response on a connection that is not HTTP",
    fix: "declare the port `http`",
  },
  "unknown-gateway": {
    cause: "a caller that is not among the gateways of this authorizer asked for a decision",
    fix: "start the authorizer with `--gateway ADDRESS` or `--gateway PRINCIPAL` if it may ask",
  },
  "unusable-question": {
    cause:
      "a gateway's query has no method, path or host, has one of them twice, or lacks what the authorizer is configured to trust",
    fix: "compare the gateway's configuration with docs/authorizer.md; the request is denied",
  },
  "no-forward-auth": {
    cause: "a gateway asked by forward authentication, and the authorizer is not configured to trust any headers",
    fix: "start the authorizer with `--forward-auth traefik`, `caddy` or `nginx`",
  },
  "no-authzen": {
    cause: "a gateway asked by the OpenID Authorization API (AuthZEN), which this authorizer does not serve",
    fix: "start the authorizer with `--authzen`",
  },
  "untrusted-subject": {
    cause: "an AuthZEN request names a workload as its subject, and the authorizer is not configured to trust that",
    fix: "start the authorizer with `--trust-peer authzen` if every gateway that may ask authenticates its callers",
  },
  "respelled-path": {
    cause: "the path is not in normal form, and the gateway would forward it unchanged",
    fix: "have the gateway normalize paths before it asks (Envoy: `normalize_path`, `merge_slashes`)",
  },
  "forged-header": {
    cause:
      "the request has a header whose name resembles a protected one, and a gateway that asks this way cannot remove it",
    fix: "have the gateway drop headers with underscores and dots in their names",
  },
  "joined-header": {
    cause:
      "a header has a comma, where Envoy may have joined several lines of it, and the policies would deny those lines, or one has a token",
    fix: "send one value without a comma in the header; the request is denied",
  },
  "asked-in-circle": {
    cause:
      "a CUSTOM policy of this authorizer asks a provider that asks this authorizer, or too many providers ask each other",
    fix: "name another provider in the policy: an authorizer cannot be its own, directly or through others",
  },
  "other-target": {
    cause: "a gateway asked about a request of another Gateway or route than those in the labels of the authorizer",
    fix: "have each route ask the authorizer that has its label, or leave the route out of the gateway's context extensions",
  },
  "not-forwarded": {
    cause: "the request did not reach the application: it accepted no connection, or too many requests were waiting",
    fix: "check that the application runs and listens on its port; callers in the mesh retry another endpoint",
  },
} as const satisfies Record<string, { readonly cause: string; readonly fix: string }>

export type XserverErrorCode = keyof typeof XSERVER_ERRORS
export type MaterialCode = "no-root" | "no-certificate" | "no-identity" | "wrong-key" | "bad-certificate"
