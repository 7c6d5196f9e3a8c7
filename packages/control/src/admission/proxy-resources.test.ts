// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { objectOf } from "../registry/foreign.js"
import { injectPod } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import { DEFAULT_RESOURCES, proxyResources } from "./proxy-resources.js"

const OPTIONS: InjectionOptions = {
  names: meshNames(),
  image: "merlon:1.2.3",
  capture: "redirect",
  nativeSidecar: true,
  controlPlane: { address: "merlond.merlon-system.svc:15012", serverName: "merlond.merlon-system.svc" },
}
const PLACE = { namespace: "foo", namespaceOptedIn: true }

function inject(annotation: string | undefined, options = OPTIONS) {
  const annotations = annotation === undefined ? {} : { "sidecar.merlon.dev/resources": annotation }
  const container = { name: "app", ports: [{ containerPort: 8080 }] }
  const calls = { "outbound.merlon.dev/proxy": "true" }
  return injectPod(
    { metadata: { annotations: { ...annotations, ...calls } }, spec: { containers: [container] } },
    PLACE,
    options,
  )
}

/** Resources of each added container. */
function added(annotation: string | undefined, options = OPTIONS): readonly unknown[] {
  const injection = inject(annotation, options)
  if (injection.outcome !== "injected") throw new Error(JSON.stringify(injection))
  const { value } = injection.patch.find(({ path }) => path === "/spec/initContainers") ?? {}
  return (value as readonly unknown[]).map(container => objectOf(container).resources) // injection writes a list
}

describe("resources of injected containers", () => {
  it("have limits by default, as a quota on limits requires", () => {
    for (const resources of added(undefined)) {
      expect(resources).toEqual({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { cpu: expect.any(String), memory: expect.any(String) },
      })
    }
    expect(added(undefined)).toHaveLength(3)
  })

  it("come from the mesh, overridden by the Pod", () => {
    const mesh = { requests: { cpu: "20m" }, limits: { memory: "300Mi" } }
    expect(added(undefined, { ...OPTIONS, resources: mesh })[0]).toEqual(mesh)
    expect(added('{"requests":{"cpu":1},"limits":{"memory":null,"cpu":"2"}}', { ...OPTIONS, resources: mesh })).toEqual(
      Array.from({ length: 3 }, () => ({ requests: { cpu: "1" }, limits: { cpu: "2" } })),
    )
  })

  it.each([
    ["limits", "must be JSON"],
    ["[]", "must be a mapping"],
    ['{"limit":{}}', "may have `requests` and `limits`, not `limit`"],
    ['{"limits":{"gpu":"1"}}', "names `gpu`; use cpu, memory, ephemeral-storage"],
    ['{"limits":{"memory":"much"}}', "needs a quantity for `memory`, such as 500m or 256Mi"],
  ])("reject the annotation %s with the reason", (annotation, message) => {
    expect(inject(annotation)).toEqual({
      outcome: "rejected",
      because: expect.stringContaining(`the annotation \`sidecar.merlon.dev/resources\` ${message}`),
    })
    expect(proxyResources(annotation, DEFAULT_RESOURCES)).toContain(message)
  })
})
