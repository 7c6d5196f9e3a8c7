// SPDX-License-Identifier: Apache-2.0
import { expect, describe as group, it } from "vitest"
import { meshConfig } from "../mesh/config.js"
import { describe } from "./describe.js"
import type { Kind } from "./document.js"
import { judge } from "./testing/documents.js"

const cases: readonly (readonly [Kind, unknown, string])[] = [
  ["RequestAuthentication", {}, "has no rules and checks no token"],
  [
    "RequestAuthentication",
    { jwtRules: [{ issuer: "https://a" }] },
    "accepts a request with a JWT only if it is a valid one of issuer `https://a`",
  ],
  [
    "RequestAuthentication",
    { jwtRules: [{ issuer: "https://a", audiences: ["x", "y"], presence: "REQUIRED" }] },
    "requires a JWT of issuer `https://a` for `x` or `y`",
  ],
  [
    "RequestAuthentication",
    { jwtRules: [{ jwksUri: "https://a/k" }] },
    "accepts a request with a JWT only if it is a valid one of any issuer its keys sign for",
  ],
  ["AuthorizationPolicy", {}, "allows nothing, so every request is denied unless another policy allows it"],
  ["AuthorizationPolicy", { rules: [{}] }, "allows every request"],
  ["AuthorizationPolicy", { action: "DENY", rules: [{}] }, "denies every request"],
  ["AuthorizationPolicy", { action: "AUDIT" }, "audits nothing"],
  [
    "AuthorizationPolicy",
    { rules: [{ from: [{ source: { requestPrincipals: ["*"] } }] }] },
    "allows any request from a caller with any valid JWT",
  ],
  [
    "AuthorizationPolicy",
    {
      action: "DENY",
      rules: [
        {
          from: [{ source: { notPrincipals: ["*"] } }],
          to: [{ operation: { methods: ["GET", "PUT"], paths: ["/a"], ports: ["80"] } }],
        },
      ],
    },
    "denies `GET` or `PUT` path `/a` at port `80` from any peer but `*`",
  ],
  [
    "AuthorizationPolicy",
    {
      rules: [
        { when: [{ key: "request.auth.claims[groups]", values: ["a"], notValues: ["b"] }] },
        { to: [{ operation: { paths: ["/1", "/2", "/3", "/4", "/5"] } }] },
      ],
    },
    "allows any request when `request.auth.claims[groups]` is `a` and is not `b`; or paths `/1` or `/2` or `/3` or 2 more",
  ],
  ["AuthorizationPolicy", { enforcement: "Shadow", rules: [{}] }, "observes without enforcing: allows every request"],
  ["PeerAuthentication", {}, "inherits the mode of the wider scope"],
  ["PeerAuthentication", { mtls: { mode: "STRICT" } }, "requires mutual TLS"],
  [
    "PeerAuthentication",
    { selector: { matchLabels: { a: "b" } }, mtls: { mode: "STRICT" }, portLevelMtls: { 80: { mode: "DISABLE" } } },
    "requires mutual TLS; at port 80 takes plaintext only",
  ],
  ["MeshService", { hosts: ["web"] }, "sends requests to `web` where they are addressed"],
  [
    "MeshService",
    {
      hosts: ["web"],
      trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } },
      routes: [
        {
          service: [
            { host: "web", name: "v1", labels: { v: "1" }, weight: 90 },
            { host: "web", name: "v2", labels: { v: "2" }, weight: 10 },
          ],
        },
      ],
    },
    "splits requests to `web` over `v1` (90), `v2` (10), with mutual TLS",
  ],
  [
    "MeshService",
    { hosts: ["web"], rules: [{ route: [{ service: [{ host: "web" }] }] }], routes: [{ service: [{ host: "old" }] }] },
    "routes requests to `web` by 1 rule, the rest over `old`",
  ],
]

group("a document is told in one sentence", () => {
  it.each(cases)("%s %j", (kind, spec, sentence) => {
    const { document, errors } = judge(kind, spec)
    expect(errors).toEqual([])
    expect(document && describe(document, meshConfig())).toBe(sentence)
  })

  it("with the dry-run annotation", () => {
    const { document } = judge("AuthorizationPolicy", {}, { annotations: { "merlon.dev/dry-run": "true" } })
    expect(document && describe(document, meshConfig())).toMatch(/^observes without enforcing: allows nothing/)
  })
})
