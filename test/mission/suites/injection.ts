// SPDX-License-Identifier: Apache-2.0
// Pods get an xserver if their namespace requests it, and only then.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Mission, succeeded } from "../support/mission.js"

interface Container {
  readonly name: string
  readonly ports?: readonly { readonly containerPort: number }[]
}

export function injection(mission: () => Mission): void {
  const containers = async (namespace: string, labels: object = {}): Promise<readonly Container[]> => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pod", namespace, labels },
      spec: { containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }] },
    }
    await mission().apply(JSON.stringify(pod))
    const { spec } = await mission().get("pod", "pod", namespace)
    succeeded(await mission().ctl(["delete", "pod", "pod", "-n", namespace]))
    // the API returns Pods in this form
    return spec.containers as readonly Container[]
  }
  const proxyOf = (all: readonly Container[]) => all.find(({ name }) => name.endsWith("xserver"))

  describe("injection: a Pod created in", () => {
    beforeAll(() => {
      const namespace = (name: string, labels: object) => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels },
      })
      const items = [
        namespace("labelled", { [mission().names.injectionLabel]: "enabled" }),
        namespace("unlabelled", {}),
      ]
      return mission().apply(JSON.stringify({ apiVersion: "v1", kind: "List", items }))
    })
    afterAll(async () => {
      succeeded(await mission().ctl(["delete", "namespace", "labelled", "unlabelled"]))
    })

    it("a namespace labelled `<mesh>-injection=enabled` has the xserver container on 15080", async () => {
      const all = await containers("labelled")
      const ports = proxyOf(all)?.ports?.map(({ containerPort }) => containerPort)
      expect(ports).toContain(15080)
      expect(all.map(({ name }) => name)).toContain("app")
    })

    it("an unlabelled one has not", async () => {
      expect((await containers("unlabelled")).map(({ name }) => name)).toEqual(["app"])
    })

    it("a labelled namespace may opt out, and one in an unlabelled namespace may opt in", async () => {
      const { injectLabel } = mission().names
      expect(proxyOf(await containers("labelled", { [injectLabel]: "false" }))).toBeUndefined()
      expect(proxyOf(await containers("unlabelled", { [injectLabel]: "true" }))).toBeDefined()
    })
  })
}
