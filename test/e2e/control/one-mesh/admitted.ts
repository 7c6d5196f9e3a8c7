// SPDX-License-Identifier: Apache-2.0
// What a running control plane admits into the cluster, with the real kubectl: its output, and what is stored.

import { beforeAll, describe, expect, it } from "vitest"
import { names } from "../support/cluster-api.js"
import type { Mesh } from "../support/mesh.js"

interface PodSpec {
  readonly containers: readonly { readonly name: string }[]
  readonly initContainers?: readonly { readonly name: string }[]
}

export function admitted(started: () => Mesh): void {
  describe("admission by a running control plane (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
    let mesh: Mesh

    const manifest = (kind: string, name: string, spec: object): string =>
      JSON.stringify({
        apiVersion: `${names.securityGroup}/${names.version}`,
        kind,
        metadata: { name, namespace: "foo" },
        spec,
      })
    const containersOf = async (name: string, namespace: string): Promise<readonly string[]> => {
      const pod = await mesh.api.get("Pod", name, namespace)
      if (pod === undefined) throw new Error(`there is no Pod ${name}`)
      const { containers, initContainers = [] } = pod.spec as PodSpec // the type of the API's schema
      return [...initContainers, ...containers].map(container => container.name)
    }

    beforeAll(async () => {
      mesh = started()
      for (const [name, labels] of [
        ["foo", { "merlon-injection": "enabled" }],
        ["bar", {}],
      ] as const) {
        await mesh.api.put({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } })
      }
    })

    it("rejects a relative `jwksUri` at its field, and stores nothing", async () => {
      const spec = { jwtRules: [{ issuer: "https://issuer.example", jwksUri: "/keys" }] }
      const ran = await mesh.api.kubectl("apply -f -", manifest("RequestAuthentication", "relative", spec))
      expect(ran.code).toBe(1)
      expect(ran.err).toContain("spec.jwtRules[0].jwksUri")
      expect(await mesh.api.get("RequestAuthentication", "relative", "foo")).toBeUndefined()
    })

    it("keeps the last good version when a change of it is rejected", async () => {
      const rule = (jwksUri: string) => ({ jwtRules: [{ issuer: "https://issuer.example", jwksUri }] })
      const good = manifest("RequestAuthentication", "kept", rule("https://issuer.example/keys"))
      expect((await mesh.api.kubectl("apply -f -", good)).code).toBe(0)
      const ran = await mesh.api.kubectl("apply -f -", manifest("RequestAuthentication", "kept", rule("keys")))
      expect(ran.code).toBe(1)
      expect((await mesh.api.get("RequestAuthentication", "kept", "foo"))?.spec).toMatchObject(
        rule("https://issuer.example/keys"),
      )
    })

    it("prints a warning for a policy that is valid but probably a mistake", async () => {
      const spec = { selector: { matchLabels: { app: "nobody" } }, action: "ALLOW" }
      const ran = await mesh.api.kubectl("apply -f -", manifest("AuthorizationPolicy", "warned", spec))
      expect(ran.code).toBe(0)
      expect(ran.err).toMatch(/^Warning: /m)
      expect(await mesh.api.get("AuthorizationPolicy", "warned", "foo")).toBeDefined()
    })

    it("injects the proxy into Pods of labelled namespaces, unless they opt out", async () => {
      const pod = (name: string, namespace: string, labels: object = {}): string =>
        JSON.stringify({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace, labels },
          spec: { containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }] },
        })
      for (const document of [
        pod("in", "foo"),
        pod("rejecting", "foo", { "sidecar.merlon.dev/inject": "false" }),
        pod("out", "bar"),
      ]) {
        expect(await mesh.api.kubectl("apply -f -", document)).toMatchObject({ code: 0 })
      }
      expect(await containersOf("in", "foo")).toContain("merlon-xserver")
      expect(await containersOf("rejecting", "foo")).toEqual(["app"])
      expect(await containersOf("out", "bar")).toEqual(["app"])
    })
  })
}
