// SPDX-License-Identifier: Apache-2.0
import { describe, it } from "vitest"
import { expectError, judge, type Rejection } from "../testing/documents.js"

const KIND = "AuthorizationPolicy"
const source = (fields: object) => ({ rules: [{ from: [{ source: fields }] }] })
const operation = (fields: object) => ({ rules: [{ to: [{ operation: fields }] }] })
const when = (condition: unknown) => ({ rules: [{ when: [condition] }] })
const SOURCE = "spec.rules[0].from[0].source"
const OPERATION = "spec.rules[0].to[0].operation"
const KEY = "spec.rules[0].when[0].key"
const DENY_SENTENCE =
  "DENY action without `rules` is meaningless as it will never be triggered, add an empty rule `{}` if you want it be triggered for every request"

describe("an AuthorizationPolicy is rejected", () => {
  const rejections: readonly Rejection[] = [
    ["DENY without rules", { action: "DENY" }, "spec.rules", DENY_SENTENCE],
    ["DENY with an empty list of rules", { action: "DENY", rules: [] }, "spec.rules", DENY_SENTENCE],
    ["CUSTOM without a provider", { action: "CUSTOM", rules: [{}] }, "spec.provider.name", "must not be empty"],
    [
      "CUSTOM with an empty provider",
      { action: "CUSTOM", provider: { name: "" }, rules: [{}] },
      "spec.provider.name",
      "must not be empty",
    ],
    [
      "CUSTOM with another field of the provider",
      { action: "CUSTOM", provider: { name: "x", url: "y" }, rules: [{}] },
      "spec.provider.url",
      "unknown field",
    ],
    [
      "CUSTOM in shadow mode",
      { action: "CUSTOM", provider: { name: "x" }, rules: [{}], enforcement: "Shadow" },
      "spec.enforcement",
      "has no shadow mode",
    ],
    [
      "CUSTOM that asks who the caller is",
      { action: "CUSTOM", provider: { name: "x" }, rules: [{ from: [{ source: { principals: ["a"] } }] }] },
      "spec.rules[0].from[0].source.principals",
      "`principals` is not supported with action CUSTOM",
    ],
    [
      "CUSTOM that asks for a claim",
      {
        action: "CUSTOM",
        provider: { name: "x" },
        rules: [{ when: [{ key: "request.auth.claims[a]", values: ["b"] }] }],
      },
      "spec.rules[0].when[0].key",
      "is not supported with action CUSTOM",
    ],
    ["a misspelt action", { action: "ALOW" }, "spec.action", "did you mean `ALLOW`?"],
    ["a lower-case action", { action: "deny", rules: [{}] }, "spec.action", "did you mean `DENY`?"],
    [
      "an action that is nothing like one",
      { action: "REJECT" },
      "spec.action",
      "use `ALLOW`, `DENY`, `AUDIT` or `CUSTOM`",
    ],
    [
      "a provider",
      { provider: { name: "x" } },
      "spec.provider",
      "`provider` must not be with non CUSTOM action, found ALLOW",
    ],
    ["CUSTOM without rules", { action: "CUSTOM", provider: { name: "x" } }, "spec.rules", "is meaningless"],
    ["a null rule", { rules: [{}, null] }, "spec.rules[1]", "`rule` must not be nil, found at rule 1"],
    ["an empty `from`", { rules: [{ from: [] }] }, "spec.rules[0].from", "`from` must not be empty, found at rule 0"],
    [
      "a null `from`",
      { rules: [{ from: [null] }] },
      "spec.rules[0].from[0]",
      "`from` must not be nil, found at rule 0",
    ],
    [
      "no source",
      { rules: [{ from: [{}] }] },
      "spec.rules[0].from[0]",
      "`from.source` must not be nil, found at rule 0",
    ],
    [
      "a null source",
      { rules: [{ from: [{ source: null }] }] },
      SOURCE,
      "`from.source` must not be nil, found at rule 0",
    ],
    [
      "an empty source",
      { rules: [{}, { from: [{ source: {} }] }] },
      "spec.rules[1].from[0].source",
      "`from.source` must not be empty, found at rule 1",
    ],
    ["a source of empty lists", source({ principals: [] }), SOURCE, "`from.source` must not be empty, found at rule 0"],
    ["an empty `to`", { rules: [{ to: [] }] }, "spec.rules[0].to", "`to` must not be empty, found at rule 0"],
    ["a null `to`", { rules: [{ to: [null] }] }, "spec.rules[0].to[0]", "`to` must not be nil, found at rule 0"],
    [
      "no operation",
      { rules: [{ to: [{}] }] },
      "spec.rules[0].to[0]",
      "`to.operation` must not be nil, found at rule 0",
    ],
    [
      "an empty operation",
      { rules: [{ to: [{ operation: {} }] }] },
      OPERATION,
      "`to.operation` must not be empty, found at rule 0",
    ],
    [
      "serviceAccounts with principals",
      source({ serviceAccounts: ["a"], principals: ["*"] }),
      SOURCE,
      "cannot set serviceAccounts with namespaces or principals, found at rule 0",
    ],
    [
      "notServiceAccounts with namespaces",
      source({ notServiceAccounts: ["a"], namespaces: ["x"] }),
      SOURCE,
      "cannot set serviceAccounts with namespaces or principals, found at rule 0",
    ],
    [
      "serviceAccounts with notPrincipals",
      source({ serviceAccounts: ["a"], notPrincipals: ["*"] }),
      SOURCE,
      "cannot set serviceAccounts",
    ],
    [
      "17 service accounts",
      source({ serviceAccounts: Array.from({ length: 17 }, (_, n) => `a${n}`) }),
      `${SOURCE}.serviceAccounts`,
      "may not have more than 16 values",
    ],
    [
      "an empty service account",
      source({ serviceAccounts: [""] }),
      `${SOURCE}.serviceAccounts[0]`,
      "empty value not allowed, found in ServiceAccounts",
    ],
    [
      "a wildcard service account",
      source({ serviceAccounts: ["foo/*"] }),
      `${SOURCE}.serviceAccounts[0]`,
      "wildcard not allowed, found in ServiceAccounts",
    ],
    [
      "a service account with two slashes",
      source({ serviceAccounts: ["a/b/c"] }),
      `${SOURCE}.serviceAccounts[0]`,
      "expected format 'serviceAccount' or 'namespace/serviceAccount', found `a/b/c`",
    ],
    [
      "a service account with an empty part",
      source({ serviceAccounts: ["/b"] }),
      `${SOURCE}.serviceAccounts[0]`,
      "expected format 'serviceAccount'",
    ],
    [
      "a service account of 321 characters",
      source({ serviceAccounts: ["a".repeat(321)] }),
      `${SOURCE}.serviceAccounts[0]`,
      "may not have more than 320 characters",
    ],
    [
      "a trust domain with two stars",
      source({ trustDomains: ["*a*"] }),
      `${SOURCE}.trustDomains[0]`,
      "only one wildcard at either end",
    ],
    [
      "a trust domain with a star inside",
      source({ trustDomains: ["a*b"] }),
      `${SOURCE}.trustDomains[0]`,
      "found `a*b` in TrustDomains",
    ],
    [
      "a trust domain with a slash",
      source({ notTrustDomains: ["td/ns"] }),
      `${SOURCE}.notTrustDomains[0]`,
      "found `td/ns` in NotTrustDomains",
    ],
    [
      "an empty principal",
      source({ principals: ["a/ns/b/sa/c", ""] }),
      `${SOURCE}.principals[1]`,
      "empty value not allowed, found in Principals",
    ],
    [
      "an empty notNamespaces value",
      source({ notNamespaces: [""] }),
      `${SOURCE}.notNamespaces[0]`,
      "empty value not allowed, found in NotNamespaces",
    ],
    ["an empty path", operation({ paths: [""] }), `${OPERATION}.paths[0]`, "empty value not allowed, found in Paths"],
    [
      "an empty condition value",
      when({ key: "source.ip", values: [""] }),
      "spec.rules[0].when[0].values[0]",
      "empty value not allowed, found in Values",
    ],
    ["a bad address", source({ ipBlocks: ["1.2.3"] }), `${SOURCE}.ipBlocks[0]`, "bad IP address (1.2.3)"],
    [
      "a bad block",
      source({ remoteIpBlocks: ["1.2.3.4/33"] }),
      `${SOURCE}.remoteIpBlocks[0]`,
      "bad CIDR range (1.2.3.4/33)",
    ],
    ["a bad negative block", source({ notIpBlocks: ["x/8"] }), `${SOURCE}.notIpBlocks[0]`, "bad CIDR range (x/8)"],
    ["a port out of range", operation({ ports: ["65536"] }), `${OPERATION}.ports[0]`, "bad port (65536)"],
    ["a named port", operation({ notPorts: ["http"] }), `${OPERATION}.notPorts[0]`, "bad port (http)"],
    ["a port with a leading zero", operation({ ports: ["080"] }), `${OPERATION}.ports[0]`, "bad port (080)"],
    ["a negative port", operation({ ports: ["-1"] }), `${OPERATION}.ports[0]`, "bad port (-1)"],
    ["a port that is a number", operation({ ports: [80] }), `${OPERATION}.ports[0]`, 'put it in quotes: `"80"`'],
    ["a list that is text", operation({ methods: "GET" }), `${OPERATION}.methods`, 'write a list: `["GET"]`'],
    [
      "an object that is a list",
      { rules: [{ from: [{ source: [{ principals: ["*"] }] }] }] },
      SOURCE,
      "remove the `-`",
    ],
    [
      "an operator inside a segment",
      operation({ paths: ["/foo/a{*}"] }),
      `${OPERATION}.paths[0]`,
      "invalid or unsupported path foo/a{*}, found in Paths. Contains '{' or '}' beyond a supported path template",
    ],
    [
      "an operator after `{**}`",
      operation({ notPaths: ["/{**}/{*}/"] }),
      `${OPERATION}.notPaths[0]`,
      "invalid or unsupported path {**}/{*}, found in NotPaths. {**} is not the last operator",
    ],
    [
      "braces without operator",
      operation({ paths: ["/foo/{id}"] }),
      `${OPERATION}.paths[0]`,
      "found in Paths. Contains '{' or '}' beyond a supported path template",
    ],
    [
      "a literal segment with a star",
      operation({ paths: ["/foo*/{*}"] }),
      `${OPERATION}.paths[0]`,
      "found in Paths. Contains segment foo* with invalid string literal",
    ],
    [
      "an empty segment in a template",
      operation({ paths: ["/a//{*}"] }),
      `${OPERATION}.paths[0]`,
      "Contains segment  with invalid string literal",
    ],
    [
      "a template without leading slash",
      operation({ paths: ["foo/{*}"] }),
      `${OPERATION}.paths[0]`,
      "A path template must begin with `/`",
    ],
    [
      "`spiffe://` in principals",
      source({ principals: ["spiffe://td/ns/a/sa/b"] }),
      `${SOURCE}.principals[0]`,
      "write `td/ns/a/sa/b`",
    ],
    [
      "`spiffe://` in source.principal",
      when({ key: "source.principal", values: ["spiffe://td/ns/a/sa/b"] }),
      "spec.rules[0].when[0].values[0]",
      "never matches",
    ],
    ["a condition without key", when({ values: ["a"] }), KEY, "`key` is missing"],
    ["an empty key", when({ key: "", values: ["a"] }), KEY, "`key` must not be empty"],
    [
      "a condition without values",
      when({ key: "source.ip" }),
      "spec.rules[0].when[0]",
      "at least one of `values` or `notValues` must be set for key source.ip",
    ],
    [
      "a condition with empty values",
      when({ key: "source.ip", values: [], notValues: [] }),
      "spec.rules[0].when[0]",
      "at least one of `values` or `notValues`",
    ],
    [
      "a bad value of a condition",
      when({ key: "source.ip", values: ["x"] }),
      "spec.rules[0].when[0].values[0]",
      "invalid `value` for `key` source.ip: bad IP address (x)",
    ],
    [
      "a bad notValue of a condition",
      when({ key: "destination.port", notValues: ["x"] }),
      "spec.rules[0].when[0].notValues[0]",
      "invalid `notValue` for `key` destination.port: bad port (x)",
    ],
    [
      "an unknown key",
      when({ key: "source.ipp", values: ["a"] }),
      KEY,
      "unknown attribute: source.ipp; did you mean `source.ip`?",
    ],
    [
      "a nearly right header key",
      when({ key: "request.header[x]", values: ["a"] }),
      KEY,
      "did you mean `request.headers[x]`?",
    ],
    [
      "a header key without brackets",
      when({ key: "request.headers", values: ["a"] }),
      KEY,
      "bad key (request.headers): should have format a[b]",
    ],
    [
      "a claims key without closing bracket",
      when({ key: "request.auth.claims[a", values: ["a"] }),
      KEY,
      "bad key (request.auth.claims[a): should have format a[b]",
    ],
    [
      "a claims key with an empty step",
      when({ key: "request.auth.claims[a][]", values: ["a"] }),
      KEY,
      "should have format a[b]",
    ],
    ["an impossible header name", when({ key: "request.headers[a b]", values: ["a"] }), KEY, "not a valid header name"],
    [
      "an experimental key",
      when({ key: "experimental.envoy.filters.a[b]", values: ["a"] }),
      KEY,
      "the attribute experimental.envoy.filters.a[b] is not supported",
    ],
    [
      "destination.namespace",
      when({ key: "destination.namespace", values: ["a"] }),
      KEY,
      "attribute destination.namespace is replaced by the metadata.namespace",
    ],
    [
      "destination.labels",
      when({ key: "destination.labels[app]", values: ["a"] }),
      KEY,
      "attribute destination.labels[app] is replaced by the workload selector",
    ],
    [
      "destination.name",
      when({ key: "destination.name", values: ["a"] }),
      KEY,
      "deprecated attribute destination.name: only supported in v1alpha1",
    ],
    [
      "a misspelt field",
      source({ requestPrincipal: ["*"] }),
      `${SOURCE}.requestPrincipal`,
      "unknown field `requestPrincipal`; did you mean `requestPrincipals`?",
    ],
    [
      "a field at the wrong level",
      { rules: [{ paths: ["/x"] }] },
      "spec.rules[0].paths",
      "`paths` belongs to `spec.rules[].to[].operation`",
    ],
    [
      "matchExpressions",
      { selector: { matchExpressions: [] } },
      "spec.selector.matchExpressions",
      "`matchExpressions` is not supported",
    ],
    ["an unknown enforcement", { enforcement: "shadow" }, "spec.enforcement", "did you mean `Shadow`?"],
    [
      "513 rules",
      { rules: Array.from({ length: 513 }, () => ({})) },
      "spec.rules",
      "may not have more than 512 values",
    ],
    [
      "513 alternatives",
      { rules: [{ from: Array.from({ length: 513 }, () => ({ source: { principals: ["*"] } })) }] },
      "spec.rules[0].from",
      "may not have more than 512 values",
    ],
  ]
  it.each(rejections)("with %s", (_, spec, path, message) => {
    expectError(judge(KIND, spec), path, message)
  })
})
