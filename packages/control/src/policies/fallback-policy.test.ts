// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { MESH, policyOf } from "../snapshot/testing/views-stage.js"
import { fallbackPolicy, UNUSABLE_KEY_SET } from "./fallback-policy.js"
import type { SecurityPolicy } from "./stored-policy.js"

const selector = { matchLabels: { app: "web" } }
const NO_KEYS = { issuer: "unreadable", jwks: UNUSABLE_KEY_SET }

it.each<[string, SecurityPolicy["kind"], object, object | undefined]>([
  ["an ALLOW allows nothing", "AuthorizationPolicy", { selector, rulez: 1 }, { selector, action: "ALLOW" }],
  ["a DENY denies everything", "AuthorizationPolicy", { action: "DENY" }, { action: "DENY", rules: [{}] }],
  ["an unknown action denies everything", "AuthorizationPolicy", { action: 7 }, { action: "DENY", rules: [{}] }],
  ["an AUDIT is left out", "AuthorizationPolicy", { action: "AUDIT", rulez: 1 }, undefined],
  ["a shadow policy is left out", "AuthorizationPolicy", { enforcement: "Shadow", rulez: 1 }, undefined],
  ["an unknown mode is STRICT", "PeerAuthentication", { mtls: { mode: "X" } }, { mtls: { mode: "STRICT" } }],
  [
    "an unreadable selector selects everything in scope",
    "PeerAuthentication",
    { selector: { matchLabels: { a: 1 } } },
    { mtls: { mode: "STRICT" } },
  ],
  [
    "a partly unreadable selector selects everything in scope",
    "PeerAuthentication",
    { selector: { ...selector, not: {} } },
    { mtls: { mode: "STRICT" } },
  ],
  [
    "targeted Services stay targeted",
    "PeerAuthentication",
    { targetRefs: [{ kind: "Service", name: "web" }], mtls: 1 },
    { targetRefs: [{ kind: "Service", name: "web" }], mtls: { mode: "STRICT" } },
  ],
  ...[
    [{ kind: "Gateway", name: "web" }],
    [{ kind: "Service", name: 1 }],
    [{ kind: "Service", name: "web", port: 80 }],
    [{ kind: "Service", name: "web", group: "x.dev" }],
    Array(17).fill({ kind: "Service", name: "web" }),
    [],
    "web",
  ].map((targetRefs): [string, "PeerAuthentication", object, object] => [
    `the targets ${JSON.stringify(targetRefs).slice(0, 60)} mean everything in scope`,
    "PeerAuthentication",
    { targetRefs },
    { mtls: { mode: "STRICT" } },
  ]),
  [
    "Services beside a selector mean everything in scope",
    "PeerAuthentication",
    { selector, targetRefs: [{ kind: "Service", name: "web" }] },
    { mtls: { mode: "STRICT" } },
  ],
  ["no token verifies", "RequestAuthentication", { jwtRules: [{}] }, { jwtRules: [NO_KEYS] }],
  [
    "a required token stays required",
    "RequestAuthentication",
    { jwtRules: [7, { presence: "REQUIRED", x: 1 }] },
    { jwtRules: [{ ...NO_KEYS, presence: "REQUIRED" }] },
  ],
])("%s", (_, kind, spec, expected) => {
  expect(fallbackPolicy(kind, policyOf(kind, "foo/p", spec), MESH.names)?.spec).toEqual(expected)
})

const STRICT = { mtls: { mode: "STRICT" } }
it.each<[string, SecurityPolicy["kind"], string, object, object | undefined]>([
  ["leaves out an AuthorizationPolicy", "AuthorizationPolicy", "true", { rulez: 1 }, undefined],
  ["leaves out one in another spelling", "AuthorizationPolicy", "T", { rulez: 1 }, undefined],
  ["keeps an AuthorizationPolicy if it is false", "AuthorizationPolicy", "false", {}, { action: "ALLOW" }],
  ["keeps an AuthorizationPolicy if it is unreadable", "AuthorizationPolicy", "yes", {}, { action: "ALLOW" }],
  ["has no effect on a PeerAuthentication", "PeerAuthentication", "true", { mtls: { mode: "X" } }, STRICT],
  ["has no effect on a RequestAuthentication", "RequestAuthentication", "true", { x: 1 }, { jwtRules: [NO_KEYS] }],
])("the dry-run annotation %s", (_, kind, value, spec, expected) => {
  const policy = policyOf(kind, "foo/p", spec)
  const annotations = { [MESH.names.dryRunAnnotation]: value }
  const annotated = { ...policy, metadata: { ...policy.metadata, annotations } }
  expect(fallbackPolicy(kind, annotated, MESH.names)?.spec).toEqual(expected)
})
