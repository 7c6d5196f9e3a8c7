// SPDX-License-Identifier: Apache-2.0
import { describe, it } from "vitest"
import { expectClean, expectWarning, judge, type Rejection } from "../testing/documents.js"

const KIND = "AuthorizationPolicy"
const source = (fields: object) => ({ rules: [{ from: [{ source: fields }] }] })
const operation = (fields: object) => ({ rules: [{ to: [{ operation: fields }] }] })
const when = (condition: unknown) => ({ rules: [{ when: [condition] }] })
const SOURCE = "spec.rules[0].from[0].source"
const OPERATION = "spec.rules[0].to[0].operation"

describe("an AuthorizationPolicy is accepted with a warning", () => {
  const tcp = "will deny all traffic to TCP ports under its scope"
  const warned: readonly Rejection[] = [
    ["a selector without labels", { selector: {} }, "spec.selector", "workload selector specified without labels"],
    ["a lower-case method", operation({ methods: ["get"] }), `${OPERATION}.methods[0]`, "write `GET`"],
    ["a star in the middle of a path", operation({ paths: ["/a/*/b"] }), `${OPERATION}.paths[0]`, "taken literally"],
    ["a star at both ends", operation({ hosts: ["*a*"] }), `${OPERATION}.hosts[0]`, "taken literally"],
    [
      "a star in the middle of a claim value",
      when({ key: "request.auth.claims[a]", values: ["a*b"] }),
      "spec.rules[0].when[0].values[0]",
      "taken literally",
    ],
    [
      "`*x/*` in requestPrincipals",
      source({ requestPrincipals: ["*x/*"] }),
      `${SOURCE}.requestPrincipals[0]`,
      "taken literally",
    ],
    ...["*/*", "*/s*", "iss/*x", "i*s/sub", "iss/a*b"].map(
      (value): Rejection => [
        `\`${value}\` in requestPrincipals`,
        source({ requestPrincipals: [value] }),
        `${SOURCE}.requestPrincipals[0]`,
        "taken literally",
      ],
    ),
    [
      "a condition with an empty list beside another",
      when({ key: "source.ip", values: [], notValues: ["10.0.0.1"] }),
      "spec.rules[0].when[0].values",
      "the list is empty",
    ],
    [
      "DENY with a port in one alternative only",
      { action: "DENY", rules: [{ to: [{ operation: { ports: ["80"] } }, { operation: { paths: ["/x"] } }] }] },
      "spec.rules[0]",
      tcp,
    ],
    [
      "a URL alone in requestPrincipals",
      source({ requestPrincipals: ["https://a.example"] }),
      `${SOURCE}.requestPrincipals[0]`,
      "names an issuer and no subject",
    ],
    [
      "an issuer alone in requestPrincipals",
      source({ requestPrincipals: ["issuer"] }),
      `${SOURCE}.requestPrincipals[0]`,
      "write `issuer/*`",
    ],
    [
      "a principal that is no identity",
      source({ principals: ["foo/sleep"] }),
      `${SOURCE}.principals[0]`,
      "never matches",
    ],
    ...["cluster.local/ns/a b/sa/c", "cluster.local/ns/a/sa/ä", "*/sa/b "].map(
      (value): Rejection => [
        `\`${value}\` in principals`,
        source({ principals: [value] }),
        `${SOURCE}.principals[0]`,
        "no identity has",
      ],
    ),
    [
      "a trust domain in capitals",
      source({ notPrincipals: ["Cluster.Local/ns/A/sa/b"] }),
      `${SOURCE}.notPrincipals[0]`,
      "write `cluster.local/ns/A/sa/b`",
    ],
    ["another one", source({ trustDomains: ["Td*"] }), `${SOURCE}.trustDomains[0]`, "write `td*`"],
    ["two namespaces in one value", source({ namespaces: ["a,b"] }), `${SOURCE}.namespaces[0]`, "no identity has `,`"],
    [
      "an account with a blank",
      source({ serviceAccounts: ["a "] }),
      `${SOURCE}.serviceAccounts[0]`,
      "no identity has ` `",
    ],
    [
      "a header's value with a blank behind it",
      when({ key: "request.headers[x]", values: ["a "] }),
      "spec.rules[0].when[0].values[0]",
      "write `a`",
    ],
    ["a namespace with a slash", source({ namespaces: ["a/b"] }), `${SOURCE}.namespaces[0]`, "never matches"],
    ["a path without slash", operation({ paths: ["admin"] }), `${OPERATION}.paths[0]`, "write `/admin`"],
    ["a path beyond ASCII", operation({ paths: ["/é/中*"] }), `${OPERATION}.paths[0]`, "write `/%C3%A9/%E4%B8%AD*`"],
    ["a path with a blank", operation({ notPaths: ["/a b"] }), `${OPERATION}.notPaths[0]`, "write `/a%20b`"],
    ["a host beyond ASCII", operation({ hosts: ["bücher.example"] }), `${OPERATION}.hosts[0]`, "`xn--…`"],
    ["a host with a path", operation({ hosts: ["a.example/b"] }), `${OPERATION}.hosts[0]`, "without a path"],
    [
      "two hosts in one value",
      operation({ hosts: ["a.example, b.example"] }),
      `${OPERATION}.hosts[0]`,
      "never matches",
    ],
    ["two methods in one value", operation({ methods: ["GET,POST"] }), `${OPERATION}.methods[0]`, "each method"],
    ["a path with a query", operation({ paths: ["/a?b=c"] }), `${OPERATION}.paths[0]`, "without query"],
    ["a host with a scheme", operation({ hosts: ["http://a"] }), `${OPERATION}.hosts[0]`, "write the host alone"],
    [
      "an empty list beside another field",
      source({ principals: [], namespaces: ["a"] }),
      `${SOURCE}.principals`,
      "the list is empty",
    ],
    [
      "a label no workload can have",
      { selector: { matchLabels: { "a b": "c" } } },
      "spec.selector.matchLabels[a b]",
      "no workload can have the label",
    ],
    ["DENY by path without port", { action: "DENY", ...operation({ paths: ["/x"] }) }, "spec.rules[0]", tcp],
    ["DENY by token only", { action: "DENY", ...source({ notRequestPrincipals: ["*"] }) }, "spec.rules[0]", tcp],
    ["DENY by trust domain only", { action: "DENY", ...source({ trustDomains: ["x"] }) }, "spec.rules[0]", tcp],
    [
      "DENY by header only",
      { action: "DENY", ...when({ key: "request.headers[a]", values: ["b"] }) },
      "spec.rules[0]",
      tcp,
    ],
  ]
  it.each(warned)("%s", (_, spec, path, message) => {
    expectWarning(judge(KIND, spec), path, message)
  })

  it.each([
    ["a port", { action: "DENY", ...operation({ paths: ["/x"], ports: ["80"] }) }],
    ["a peer", { action: "DENY", ...source({ notPrincipals: ["*"] }) }],
    ["a connection attribute", { action: "DENY", ...when({ key: "source.ip", values: ["10.0.0.1"] }) }],
    ["another action", operation({ paths: ["/x"] })],
  ])("and none about TCP with %s", (_, spec) => {
    expectClean(judge(KIND, spec))
  })
})
