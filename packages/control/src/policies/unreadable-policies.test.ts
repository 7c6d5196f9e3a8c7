// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import type { Kind } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { StoredPolicies } from "./stored-policies.js"
import { unreadablePolicies } from "./unreadable-policies.js"

const names = meshNames()
const PATH = "/caf\u{fffd}"

function stored(kind: Kind, name: string, spec: object): KubernetesObject {
  const group = kind === "MeshService" ? names.networkingGroup : names.securityGroup
  const metadata = { name, namespace: "foo", uid: name }
  return { apiVersion: `${group}/${names.version}`, kind, metadata, spec }
}

it("counts unreadable policies by what is in effect instead", () => {
  const policies = new StoredPolicies({ names, onInvalid: () => undefined })
  const rules = (path: string) => ({ action: "DENY", rules: [{ to: [{ operation: { paths: [path] } }] }] })
  const counts = (): object => Object.fromEntries(unreadablePolicies(policies.items.values()))
  policies.set("AuthorizationPolicy", stored("AuthorizationPolicy", "mended", rules("/a")))
  expect(counts()).toEqual({ last_good: 0, strictest: 0, nothing: 0 })
  // Stored by an older version that accepted this encoding.
  policies.set("AuthorizationPolicy", stored("AuthorizationPolicy", "upgraded", rules(PATH)))
  policies.set("AuthorizationPolicy", stored("AuthorizationPolicy", "mended", rules(PATH)))
  policies.set("MeshService", stored("MeshService", "routes", { hosts: [PATH] }))
  expect(counts()).toEqual({ last_good: 1, strictest: 1, nothing: 1 })
  policies.delete("AuthorizationPolicy", "foo", "upgraded")
  expect(counts()).toEqual({ last_good: 1, strictest: 0, nothing: 1 })
})
