// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { accessManifests } from "./manifests.js"
import { webhookManifests } from "./webhook-manifests.js"

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

describe("the control plane's permissions", () => {
  const manifests = accessManifests(meshNames())
  const rules = (kind: string) => manifests.find(({ object }) => object.kind === kind)?.object.rules as readonly Rule[] // our own format

  it("contain no wildcard", () => {
    for (const { apiGroups, resources, verbs } of [...rules("ClusterRole"), ...rules("Role")]) {
      expect([...apiGroups, ...resources, ...verbs]).not.toContain("*")
    }
  })

  it("do not include Secrets outside the root namespace or changes of workloads", () => {
    const resources = rules("ClusterRole").flatMap(rule => rule.resources)
    expect(resources).not.toContain("secrets")
    const writes = rules("ClusterRole").filter(({ verbs }) =>
      verbs.some(verb => !["get", "list", "watch"].includes(verb)),
    )
    const open = writes.filter(({ resourceNames, verbs }) => resourceNames === undefined && verbs.join() !== "create")
    expect(open.flatMap(rule => rule.resources).sort()).toEqual([
      "authorizationpolicies/status",
      "events",
      "meshservices/status",
      "peerauthentications/status",
      "pods/status",
      "policyinvariants/status",
      "requestauthentications/status",
    ])
  })
})

describe("the webhooks", () => {
  const hooks = (capture: "redirect" | "service", mesh = "merlon", domain = "merlon.dev") =>
    webhookManifests({
      names: meshNames({ mesh, domain }),
      address: { service: { namespace: "merlon-system", name: "merlond", port: 443 } },
      caBundle: "PEM",
      capture,
    }).flatMap(({ object }) => object.webhooks as readonly { readonly [field: string]: unknown }[]) // our own format

  it("fail closed and never apply to the root namespace or kube-system", () => {
    const [revocations, ...others] = [...hooks("service")].sort(
      (a, b) => (isOfRevocations(b) ? 1 : 0) - (isOfRevocations(a) ? 1 : 0),
    )
    // Only for one ConfigMap, next to our own ones. An Event reports what this webhook misses.
    expect(revocations).toMatchObject({
      failurePolicy: "Ignore",
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "merlon-system" } },
      matchConditions: [{ expression: 'object.metadata.name == "merlon-revocations"' }],
    })
    for (const hook of others) expect(hook.failurePolicy).toBe("Fail")
    for (const { namespaceSelector } of others.slice(1)) {
      expect(JSON.stringify(namespaceSelector)).toContain('"NotIn","values":["kube-system","merlon-system"]')
    }
  })

  const isOfRevocations = ({ name }: { readonly [field: string]: unknown }): boolean =>
    name === "revocations.merlon.dev"

  it("include Services only for capture by Service", () => {
    expect(JSON.stringify(hooks("service"))).toContain('"services"')
    const pending = hooks("redirect").filter(hook => JSON.stringify(hook.rules).includes('"services"'))
    expect(pending.map(({ name }) => name)).toEqual(["confined.injection.merlon.dev", "chosen.injection.merlon.dev"])
  })

  it("use the mesh's own names", () => {
    const text = JSON.stringify(hooks("redirect", "dubbo", "dubbo.apache.org"))
    expect(text).toContain('"dubbo-injection"')
    expect(text).toContain('"sidecar.dubbo.apache.org/inject"')
    expect(text).toContain('"security.dubbo.apache.org"')
    expect(text).not.toContain("merlon.dev")
  })
})
