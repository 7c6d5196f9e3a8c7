// SPDX-License-Identifier: Apache-2.0
// What a running control plane admits into the cluster, with the real kubectl: its output, and what is stored.

import { beforeAll, describe, expect, it, vi } from "vitest"
import { names, WAIT } from "../support/cluster-api.js"
import type { Mesh } from "../support/mesh.js"

interface PodSpec {
  readonly containers: readonly { readonly name: string }[]
  readonly initContainers?: readonly { readonly name: string }[]
}

interface Recorded {
  readonly time: string
  readonly user?: string
  readonly operation: string
  readonly before?: string
  readonly after?: string
  readonly previous?: string
  readonly digest: string
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

    it("records who changed a policy, and proves what changed since a given time", async () => {
      const namespace = "recorded"
      const policy = (name: string, namespaces: readonly string[]): string =>
        JSON.stringify({
          apiVersion: `${names.securityGroup}/${names.version}`,
          kind: "AuthorizationPolicy",
          metadata: { name, namespace },
          spec: { rules: [{ from: [{ source: { namespaces } }] }] },
        })
      const apply = async (document: string, ...flags: readonly string[]): Promise<void> => {
        expect(await mesh.api.kubectl(["apply -f -", ...flags].join(" "), document)).toMatchObject({ code: 0 })
      }
      const path = `/apis/answers.merlon.dev/v1alpha1/namespaces/${namespace}`
      const changes = async (): Promise<readonly Recorded[]> => {
        const { out } = await mesh.api.kubectl(`get --raw ${path}/changes`)
        const { items } = JSON.parse(out) as { readonly items: readonly { readonly spec: Recorded }[] } // our own API
        return items.map(({ spec }) => spec)
      }
      await mesh.api.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
      const spec = { containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }] }
      await mesh.api.put({ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace }, spec })
      await apply(policy("web", ["ops"]))
      await vi.waitFor(async () => expect(await changes()).toMatchObject([{ operation: "create" }]), WAIT)
      await apply(policy("web", ["ops", "never"]), "--dry-run=server")
      const [created] = await changes()
      await apply(policy("web", ["ops", "dev"]))
      await vi.waitFor(async () => expect(await changes()).toHaveLength(2), WAIT)
      const [updated] = await changes()
      expect(updated).toMatchObject({ operation: "update", before: created?.after, previous: created?.digest })
      expect(updated?.user).toEqual(expect.stringMatching(/./))
      const since = JSON.stringify({ spec: { since: created?.time } })
      const asked = await mesh.api.kubectl(`create --raw ${path}/diffs -f -`, since)
      expect(JSON.parse(asked.out)).toMatchObject({
        status: {
          result: "different",
          groups: [{ changes: [{ from: "deny", to: "allow", region: "any request from namespace dev" }] }],
        },
      })
    })
  })
}
