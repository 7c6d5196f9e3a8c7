// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { expect, it, test } from "vitest"
import { reducedPod } from "./reduced-pod.js"
import { Registry } from "./registry.js"
import { podOf, serviceOf } from "./testing/objects.js"

const names = meshNames()
const DNS = { containerPort: 53, protocol: "UDP" }
const WEB = { app: "web" }
type Sketch = Parameters<typeof podOf>[1]

const init = (args: readonly string[], more: object = {}) => ({
  initContainers: [{ name: "merlon-init", args, ...more }],
})

test.each<[string, Sketch, readonly number[]]>([
  ["no port", {}, []],
  ["a TCP port", { ports: [{ containerPort: 53, protocol: "TCP" }, { containerPort: 80 }] }, []],
  ["an SCTP port", { ports: [{ containerPort: 53, protocol: "SCTP" }] }, []],
  ["a port for both", { ports: [{ containerPort: 53 }, DNS] }, [53]],
  ["several, out of order and twice", { ports: [{ containerPort: 443, protocol: "UDP" }, DNS, DNS] }, [53, 443]],
  ["a number that is not a port", { ports: [{ containerPort: 70_000, protocol: "UDP" }] }, []],
  [
    "a port of a native sidecar",
    { spec: { initContainers: [{ name: "dns", restartPolicy: "Always", ports: [DNS] }] } },
    [53],
  ],
  [
    "a port of a container that ends before the application starts",
    { spec: { initContainers: [{ name: "dns", ports: [DNS] }] } },
    [],
  ],
])("reads the UDP ports of a Pod with %s", (_, sketch, expected) => {
  const registry = new Registry({ names })
  registry.setPod(podOf("foo/a", sketch))
  expect(registry.workloads.get("foo/a")?.udpPorts).toEqual(expected)
})

test.each<[string, object, readonly number[]]>([
  ["a port", { port: 53, protocol: "UDP" }, [53, 443]],
  ["a target port", { port: 53, targetPort: 5353, protocol: "UDP" }, [443, 5353]],
  ["a name, which refers to a declared port", { port: 53, targetPort: "dns", protocol: "UDP" }, [443]],
  ["TCP", { port: 53 }, [443]],
])("adds the UDP ports that a Service targets by %s", (_, port, expected) => {
  const registry = new Registry({ names })
  const changed: string[] = []
  registry.setPod(podOf("foo/a", { labels: WEB, ports: [{ containerPort: 443, protocol: "UDP" }] }))
  registry.onChange(({ workloads }) => changed.push(...workloads))
  registry.setService(serviceOf("foo/web", WEB, [port]))
  expect(registry.workloads.get("foo/a")?.udpPorts).toEqual(expected)
  expect(changed).toEqual(["foo/a"])
  registry.deleteService("foo", "web")
  expect(registry.workloads.get("foo/a")?.udpPorts).toEqual([443])
})

const REFUSING = ["capture", "--map", "", "--udp", "refuse"]
const DECLARED = { annotations: { "merlon.dev/workload": "declared" } }

test.each<[string, Sketch, string]>([
  ["without rules of its own", {}, "unrefusable"],
  ["that an administrator declared", { ...DECLARED, spec: init(REFUSING) }, "unrefusable"],
  ["whose capture never ends", { spec: init(REFUSING, { restartPolicy: "Always" }) }, "unrefusable"],
  ["whose capture runs something else", { spec: init(REFUSING, { command: ["true"] }) }, "unrefusable"],
  ["whose capture passes it", { spec: init(["capture", "--map", ""]) }, "passed"],
  ["whose capture overrides it", { spec: init([...REFUSING, "--udp", "pass"]) }, "passed"],
  ["whose capture overrides it with `--flag=value`", { spec: init([...REFUSING, "--udp=pass"]) }, "passed"],
  ["whose capture refuses another thing", { spec: init(["capture", "--map", "", "--undeclared", "refuse"]) }, "passed"],
  ["whose capture refuses it", { spec: init(REFUSING) }, "refused"],
])("reports what happens to UDP to a Pod %s", (_, sketch, expected) => {
  const registry = new Registry({ names })
  // The reduced Pod that the control plane keeps.
  registry.setPod(reducedPod(podOf("foo/a", sketch)))
  expect(registry.workloads.get("foo/a")?.udp).toBe(expected)
})

it("announces a Pod that was replaced by one that rejects UDP", () => {
  const registry = new Registry({ names })
  registry.setPod(podOf("foo/a", { spec: init(["capture", "--map", ""]) }))
  const changed: string[] = []
  registry.onChange(({ workloads }) => changed.push(...workloads))
  registry.setPod(podOf("foo/a", { spec: init(REFUSING) }))
  expect(changed).toEqual(["foo/a"])
})
