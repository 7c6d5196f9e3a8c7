// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { captureService, type PortsBehind } from "./capture-service.js"
import { patched } from "./testing/apply-patch.js"

const names = meshNames()
const NOTE = "merlon.dev/original-target-ports"
const BEHIND: PortsBehind = () => [
  { port: 9090, name: "admin", listen: 15080 },
  { port: 8080, name: "http", listen: 15081 },
]
const service = (ports: readonly object[], spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", annotations: {} as Record<string, string>, ...metadata },
  spec: { selector: { app: "web" }, ports: ports as { port?: unknown; targetPort?: unknown }[], ...spec },
})
const PLACE = { namespace: "foo", namespaceOptedIn: true }
function capture(object: ReturnType<typeof service>, behind = BEHIND, place = PLACE) {
  const { patch, warnings } = captureService(object, place, behind, { names })
  const after = patched(object, patch)
  return {
    after,
    targets: after.spec.ports.map(({ targetPort }) => targetPort),
    note: after.metadata.annotations[NOTE],
    warnings,
  }
}

describe("capture by Service", () => {
  it("maps each TCP port to xserver's port for its container port", () => {
    const { targets, note, warnings } = capture(
      service([
        { port: 80, targetPort: 8080 },
        { port: 81, targetPort: "admin" },
        { port: 9090 },
        { port: 53, targetPort: 53, protocol: "UDP" },
      ]),
    )
    expect(targets).toEqual([15081, 15080, 15080, 53])
    expect(JSON.parse(note ?? "")).toEqual({ 80: 8080, 81: "admin", 9090: 9090 })
    expect(warnings).toEqual([])
  })

  it("changes nothing the second time, and repeats the change after a user edit", () => {
    const first = capture(service([{ port: 80, targetPort: 8080 }])).after
    expect(captureService(first, PLACE, BEHIND, { names }).patch).toEqual([])
    const again = capture({
      ...first,
      spec: { ...first.spec, ports: [{ port: 80, targetPort: "admin" }] as { port?: unknown; targetPort?: unknown }[] },
    })
    expect(again.targets).toEqual([15080])
    expect(JSON.parse(again.note ?? "")).toEqual({ 80: "admin" })
  })

  it("uses the order of ports until a workload is known, and corrects it later", () => {
    const guessed = capture(
      service([
        { port: 80, targetPort: 8080 },
        { port: 81, targetPort: 9090 },
      ]),
      () => undefined,
    )
    expect(guessed.targets).toEqual([15080, 15081])
    expect(guessed.warnings).toEqual([expect.stringContaining("this Service has no known workloads yet")])
    expect(capture(guessed.after).targets).toEqual([15081, 15080])
  })

  it("leaves a port that no workload has, and reports it", () => {
    const { targets, warnings } = capture(service([{ port: 80, targetPort: 1234 }]))
    expect(targets).toEqual([1234])
    expect(warnings).toEqual([expect.stringContaining("declares the port `1234`")])
  })

  it.each<[string, ReturnType<typeof service>, typeof PLACE]>([
    ["an ExternalName", service([{ port: 80, targetPort: 8080 }], { type: "ExternalName" }), PLACE],
    ["one without selector", service([{ port: 80, targetPort: 8080 }], { selector: {} }), PLACE],
    [
      "one that opts out",
      service([{ port: 80, targetPort: 8080 }], {}, { labels: { "sidecar.merlon.dev/inject": "false" } }),
      PLACE,
    ],
    ["one in another namespace", service([{ port: 80, targetPort: 8080 }]), { ...PLACE, namespaceOptedIn: false }],
  ])("does not change %s", (_, object, place) => {
    expect(captureService(object, place, BEHIND, { names }).patch).toEqual([])
  })

  it("ignores an annotation that another client wrote", () => {
    expect(capture(service([{ port: 80, targetPort: 8080 }], {}, { annotations: { [NOTE]: "{" } })).targets).toEqual([
      15081,
    ])
  })
})
