// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { restoredPorts } from "./restore-service.js"

describe("a Service after an uninstallation", () => {
  const service = (annotation: string | undefined) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "web",
      annotations: annotation === undefined ? {} : { "merlon.dev/original-target-ports": annotation },
    },
    spec: {
      ports: [
        { port: 80, targetPort: 15_080 },
        { port: 53, protocol: "UDP" },
      ],
    },
  })
  const forget = { op: "remove", path: "/metadata/annotations/merlon.dev~1original-target-ports" }

  it("has its original target ports", () => {
    expect(restoredPorts(service('{"80":"http"}'), meshNames())).toEqual([
      { op: "test", path: "/spec/ports/0/targetPort", value: 15_080 },
      { op: "replace", path: "/spec/ports/0/targetPort", value: "http" },
      forget,
    ])
  })

  it("is left alone if it was never changed", () => {
    expect(restoredPorts(service(undefined), meshNames())).toBeUndefined()
  })

  it("keeps its ports if the annotation cannot be read", () => {
    expect(restoredPorts(service("{"), meshNames())).toEqual([forget])
  })
})
