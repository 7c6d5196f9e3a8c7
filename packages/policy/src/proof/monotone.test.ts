// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { meshConfig } from "../mesh/config.js"
import type { AuthorizationPolicySpec } from "../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../resources/document.js"
import type { PeerAuthenticationSpec } from "../resources/peer-authentication/definition.js"
import { narrows } from "./monotone.js"

const mesh = meshConfig()
const ROOT = mesh.names.rootNamespace
const apiVersion = "security.merlon.dev/v1alpha3"
const authz = (spec: AuthorizationPolicySpec, namespace = "foo"): PolicyDocument => ({
  apiVersion,
  kind: "AuthorizationPolicy",
  metadata: { name: "p", namespace },
  spec,
})
const peer = (spec: PeerAuthenticationSpec, namespace = "foo"): PolicyDocument => ({
  apiVersion,
  kind: "PeerAuthentication",
  metadata: { name: "p", namespace },
  spec,
})
const path = (value: string) => ({ to: [{ operation: { paths: [value] } }] })
const selector = { matchLabels: { app: "web" } }
const deny = (...rules: object[]) => authz({ action: "DENY", rules })
const denyOf = (kind: string) => authz({ action: "DENY", rules: [A], targetRefs: [{ kind, name: "web" }] })
const allow = (...rules: object[]) => authz({ action: "ALLOW", rules })
const mode = (value: "STRICT" | "DISABLE" | "PERMISSIVE", namespace = "foo") =>
  peer({ mtls: { mode: value } }, namespace)
const A = path("/a")
const B = path("/b")
const GUARDED = { ...A, when: [{ key: "source.ip", values: ["10.0.0.0/8"] }] }

type Side = PolicyDocument | undefined
it.each<[string, boolean, Side, Side, (readonly PolicyDocument[])?]>([
  ["a new DENY", true, undefined, deny(A)],
  ["a DENY that goes", false, deny(A), undefined],
  ["one more rule of a DENY", true, deny(A), deny(A, B)],
  ["one rule less of a DENY", false, deny(A, B), deny(A)],
  ["a DENY that no longer wants a condition", true, deny(GUARDED), deny(A)],
  ["a DENY that wants one", false, deny(A), deny(GUARDED)],
  ["a DENY that selects less", false, deny(A), authz({ action: "DENY", rules: [A], selector })],
  ["a DENY that selects more", true, authz({ action: "DENY", rules: [A], selector }), deny(A)],
  ["a DENY of a Service that becomes one of a Gateway", false, denyOf("Service"), denyOf("Gateway")],
  ["a DENY of a Gateway that becomes one of a Service", false, denyOf("Gateway"), denyOf("Service")],
  ["a DENY of a Gateway that stays", true, denyOf("Gateway"), denyOf("Gateway")],
  ["a DENY in shadow mode from now on", false, deny(A), authz({ action: "DENY", rules: [A], enforcement: "Shadow" })],
  ["an AUDIT that goes", true, authz({ action: "AUDIT", rules: [A] }), undefined],
  ["the first ALLOW", true, undefined, allow(A)],
  ["another ALLOW", false, undefined, allow(A), [allow(B)]],
  ["another ALLOW, beside one of the mesh", false, undefined, allow(A), [authz({ rules: [B] }, ROOT)]],
  ["the last ALLOW that goes", false, allow(A), undefined],
  ["an ALLOW that goes beside another", true, allow(A), undefined, [allow(B)]],
  ["an ALLOW that goes beside one of less", false, allow(A), undefined, [authz({ rules: [B], selector })]],
  ["a mesh-wide ALLOW that goes beside a namespace's", false, authz({ rules: [A] }, ROOT), undefined, [allow(B)]],
  ["an ALLOW that goes beside a mesh-wide one", true, allow(A), undefined, [authz({ rules: [B] }, ROOT)]],
  ["an ALLOW that goes beside one in shadow mode", false, allow(A), undefined, [authz({ enforcement: "Shadow" })]],
  ["one rule less of an ALLOW", true, allow(A, B), allow(A)],
  ["one more rule of an ALLOW", false, allow(A), allow(A, B)],
  ["an ALLOW that wants a condition", true, allow(A), allow(GUARDED)],
  ["an ALLOW that becomes a DENY", false, allow(A), deny(A)],
  ["STRICT", true, undefined, mode("STRICT")],
  ["STRICT for the mesh", true, undefined, mode("STRICT", ROOT)],
  ["STRICT instead of DISABLE", false, mode("DISABLE"), mode("STRICT")],
  ["STRICT below a DISABLE of the mesh", false, undefined, mode("STRICT"), [mode("DISABLE", ROOT)]],
  ["STRICT that goes", false, mode("STRICT"), undefined],
  ["PERMISSIVE that goes", true, mode("PERMISSIVE"), undefined],
  ["DISABLE", false, undefined, mode("DISABLE")],
  ["STRICT on other workloads", false, mode("STRICT"), peer({ mtls: { mode: "STRICT" }, selector })],
  [
    "STRICT but for a port",
    false,
    undefined,
    peer({ selector, mtls: { mode: "STRICT" }, portLevelMtls: { "80": { mode: "DISABLE" } } }),
  ],
])("%s: allows no more is %s", (_, expected, before, after, others = []) => {
  expect(narrows({ before, after }, others, mesh)).toBe(expected)
})
