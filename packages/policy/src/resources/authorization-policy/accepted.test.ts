// SPDX-License-Identifier: Apache-2.0
import { describe, it } from "vitest"
import { expectClean, judge } from "../testing/documents.js"

const KIND = "AuthorizationPolicy"
const source = (fields: object) => ({ rules: [{ from: [{ source: fields }] }] })
const operation = (fields: object) => ({ rules: [{ to: [{ operation: fields }] }] })

describe("an AuthorizationPolicy is accepted", () => {
  const accepted: readonly (readonly [string, unknown])[] = [
    ["with nothing: allow nothing", {}],
    ["with one empty rule: allow all", { rules: [{}] }],
    ["denying all", { action: "DENY", rules: [{}] }],
    ["auditing without rules", { action: "AUDIT" }],
    [
      "with every source field",
      source({
        requestPrincipals: ["*", "iss/*", "iss/sub*", "*/sub", "*x/sub", "*x", "x*"],
        notRequestPrincipals: ["i/s"],
        principals: ["*", "td/ns/a/sa/b", "td/ns/a/*", "*/sa/b"],
        namespaces: ["a", "a*b*"],
        trustDomains: ["*", "a*", "*a"],
        ipBlocks: ["10.0.0.1", "10.0.0.0/8", "2001:db8::/32"],
        remoteIpBlocks: ["::1"],
      }),
    ],
    [
      "with service accounts",
      source({ serviceAccounts: ["a", "ns/a"], notServiceAccounts: ["b"], trustDomains: ["td"] }),
    ],
    [
      "with every operation field",
      operation({
        hosts: ["a.com", "a.com:*", "*.a.com", "*"],
        ports: ["0", "80", "65535"],
        methods: ["GET", "*"],
        paths: ["/a", "/a*", "*.html", "*", "/a/{*}", "/a/{**}/", "/a/{*}/b/{**}"],
        notPaths: ["/x"],
      }),
    ],
    [
      "with every attribute",
      {
        rules: [
          { when: ["source.ip", "remote.ip", "destination.ip"].map(key => ({ key, values: ["10.0.0.0/8"] })) },
          {
            when: [
              "source.namespace",
              "source.serviceAccount",
              "source.trustDomain",
              "request.auth.audiences",
              "request.auth.presenter",
              "connection.sni",
              "request.auth.claims[a]",
              "request.auth.claims[a][b]",
              "request.auth.claims[example.com/x]",
              "request.headers[X-A]",
              "request.headers[:authority]",
            ].map(key => ({ key, notValues: ["a"] })),
          },
        ],
      },
    ],
    ["in shadow", { enforcement: "Shadow", selector: { matchLabels: { app: "web" } } }],
  ]
  it.each(accepted)("%s", (_, spec) => {
    expectClean(judge(KIND, spec))
  })
})
