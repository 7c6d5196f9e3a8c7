// SPDX-License-Identifier: Apache-2.0

import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it, test } from "vitest"
import { exposedCondition } from "./captured.js"
import type { DirectoryChange } from "./mesh-directory.js"
import { Registry } from "./registry.js"
import { feedRegistry } from "./registry-feed.js"
import { ManualReflected, podOf, serviceOf } from "./testing/objects.js"

const names = meshNames()

function setUp() {
  const warnings: string[] = []
  const registry = new Registry({ names, warn: (key, message) => warnings.push(`${key}: ${message}`) })
  const changes: { workloads: string[]; services: string[] }[] = []
  registry.onChange(({ workloads, services }: DirectoryChange) =>
    changes.push({ workloads: [...workloads].sort(), services: [...services].sort() }),
  )
  return { registry, changes, warnings }
}

const PORT = { containerPort: 8080 }
const captureWith = (...args: string[]) => ({ initContainers: [{ name: "merlon-init", args }] })
const EXPOSED = {
  phase: "Running",
  conditions: [{ type: "merlon.dev/Captured", ...exposedCondition([8080]) }],
}
const REDIRECTED = {
  annotations: { "merlon.dev/injected": "2" },
  spec: captureWith("capture", "--map", ""),
}

describe("a workload", () => {
  test.each<[string, Parameters<typeof podOf>[1], object]>([
    ["has the service account `default` if none is named", {}, { serviceAccount: "default" }],
    ["has its own service account", { serviceAccount: "web" }, { serviceAccount: "web" }],
    ["is ready while it runs and reports ready", {}, { ready: true, addresses: ["10.0.0.1"] }],
    ["is not ready before it runs", { status: { phase: "Pending" } }, { ready: false, addresses: [] }],
    [
      "is not ready while it is being deleted",
      { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
      { ready: false, proxied: true },
    ],
    [
      "takes its address from the list if there is no single one",
      { status: { phase: "Running", podIPs: [{ ip: "fd00::1" }] } },
      { addresses: ["fd00::1"], ready: false },
    ],
    [
      "has each address of both families, the primary one first",
      { status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }, { ip: 7 }] } },
      { addresses: ["10.0.0.1", "fd00::1"] },
    ],
    ["has no address if the status contains something else", { status: { podIP: "nowhere" } }, { addresses: [] }],
    ["is proxied with an xserver container", {}, { proxied: true }],
    ["is not proxied without one", { proxied: false }, { proxied: false }],
    ["has started if it runs", {}, { started: true, leaving: false }],
    ["has not started while it is pending", { status: { phase: "Pending" } }, { started: false }],
    [
      "is leaving once it is being deleted",
      { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
      { leaving: true },
    ],
    [
      "can be bypassed if undeclared ports pass",
      { annotations: { "inbound.merlon.dev/undeclared": "pass" } },
      { bypass: "undeclared ports are reachable without policy checks" },
    ],
    [
      "can be bypassed if only Services route to its proxy",
      { annotations: { "merlon.dev/injected": "1" } },
      { bypass: "not checked yet whether its ports answer at the Pod's address" },
    ],
    [
      "can be bypassed if only a container's name indicates a proxy",
      {},
      { bypass: "it was not injected, so traffic is not redirected to xserver" },
    ],
    ["cannot be bypassed if it was injected", REDIRECTED, { bypass: undefined }],
    [
      "can be bypassed if a container is privileged",
      { ...REDIRECTED, spec: { ephemeralContainers: [{ name: "debug", securityContext: { privileged: true } }] } },
      { bypass: "the container `debug` is privileged" },
    ],
    [
      "can be bypassed if the capture leaves ports out",
      { ...REDIRECTED, ports: [PORT] },
      { bypass: "`merlon-init` does not redirect the declared ports of the Pod to xserver" },
    ],
    [
      "can be bypassed if the capture passes undeclared ports",
      { ...REDIRECTED, spec: captureWith("capture", "--map", "", "--undeclared", "pass") },
      { bypass: "undeclared ports are reachable without policy checks" },
    ],
    [
      "can be bypassed if the capture passes them with `--flag=value`",
      { ...REDIRECTED, spec: captureWith("capture", "--map", "", "--undeclared=pass") },
      { bypass: "`merlon-init` does not redirect the declared ports of the Pod to xserver" },
    ],
    [
      "can be bypassed if a second flag overrides the map",
      { ...REDIRECTED, ports: [PORT], spec: captureWith("capture", "--map", "8080:15080", "--map", "") },
      { bypass: "`merlon-init` does not redirect the declared ports of the Pod to xserver" },
    ],
    [
      "cannot be bypassed if the capture explicitly rejects undeclared ports",
      { ...REDIRECTED, spec: captureWith("capture", "--map", "", "--undeclared", "refuse") },
      { bypass: undefined },
    ],
    [
      "cannot be bypassed if outbound calls are captured too",
      { ...REDIRECTED, ports: [PORT], spec: captureWith("capture", "--map", "8080:15080", "--outbound", "15001") },
      { bypass: undefined },
    ],
    [
      "can be bypassed if the proxy of a declared workload reports it",
      { annotations: { "merlon.dev/workload": "declared" }, status: EXPOSED },
      { bypass: "its application answers without going through xserver at port 8080; let it listen on 127.0.0.1" },
    ],
    [
      "cannot be bypassed if that proxy reports nothing",
      { annotations: { "merlon.dev/workload": "declared" } },
      { bypass: undefined },
    ],
    [
      "is proxied if the annotation says so",
      { proxied: false, annotations: { "merlon.dev/proxy": "xserver" } },
      { proxied: true },
    ],
    [
      "is proxied if an administrator declared it",
      { proxied: false, annotations: { "merlon.dev/workload": "declared" } },
      { proxied: true },
    ],
  ])("%s", (_, sketch, expected) => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a", sketch))
    expect(registry.workloads.get("foo/a")).toMatchObject(expected)
  })

  test.each<[string, { [name: string]: string }, number[], RegExp | undefined]>([
    ["on the usual ports", {}, [15080, 15081], undefined],
    ["on the declared port", { "merlon.dev/listen-ports": "8080:21080" }, [21080, 15081], undefined],
    ["on all declared ports", { "merlon.dev/listen-ports": "9090:21090, 8080:21080" }, [21080, 21090], undefined],
    [
      "on the usual ports if two would collide",
      { "merlon.dev/listen-ports": "8080:15081" },
      [15080, 15081],
      /8080:21080/,
    ],
    [
      "on the usual ports if a port is declared twice",
      { "merlon.dev/listen-ports": "8080:1,8080:2" },
      [15080, 15081],
      /as/,
    ],
    ["on the usual ports if none is declared", { "merlon.dev/listen-ports": "8080" }, [15080, 15081], /is invalid/],
    [
      "on the usual ports if a number is not a port",
      { "merlon.dev/listen-ports": "8080:99999" },
      [15080, 15081],
      /is invalid/,
    ],
  ])("that is declared has its proxy listen %s", (_, annotations, listen, warning) => {
    const { registry, warnings } = setUp()
    const ports = [PORT, { containerPort: 9090 }]
    registry.setPod(podOf("foo/a", { ports, annotations: { "merlon.dev/workload": "declared", ...annotations } }))
    expect(registry.workloads.get("foo/a")?.ports.map(port => port.listen)).toEqual(listen)
    expect(warnings.join()).toMatch(warning ?? /^$/)
  })

  const AS = /allows nothing: .*; write it as 8080=/
  test.each<[string, string | undefined, string[][], RegExp | undefined]>([
    ["none by default", undefined, [[], []], undefined],
    ["those in its annotation", "8080=spdy/3.1, custom", [["spdy/3.1", "custom"], []], undefined],
    ["those of each port", "9090=x;8080 = y", [["y"], ["x"]], undefined],
    ["none if no port is named", "custom", [[], []], AS],
    ["none if no protocol is named", "8080=", [[], []], AS],
    ["none if a protocol is invalid", "8080=good,two words", [[], []], /`two words` is not the name of a protocol/],
    ["none if one would hide requests", "8080=good,H2C", [[], []], /never switched to `H2C`/],
    ["none if a port is not declared", "8080=good;7070=x", [[], []], /no container declares port 7070/],
    ["none if a port is named twice", "8080=good;8080=x", [[], []], /port 8080 is listed twice/],
    ["none if a number is not a port", "8080=good;99999=x", [[], []], /`99999=x` is not a port with its protocols/],
    ["none if there are too many", `8080=${Array(33).fill("x").join()}`, [[], []], /more than 32/],
  ])("allows upgrades to %s", (_, text, upgrades, warning) => {
    const { registry, warnings } = setUp()
    const annotations = text === undefined ? {} : { "inbound.merlon.dev/upgrades": text }
    registry.setPod(podOf("foo/a", { ports: [PORT, { containerPort: 9090 }], annotations }))
    expect(registry.workloads.get("foo/a")?.ports.map(port => port.upgrades)).toEqual(upgrades)
    expect(warnings.join()).toMatch(warning ?? /^$/)
  })

  it("that an orchestrator runs has its proxy listen on the usual ports, whatever its annotation", () => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a", { ports: [PORT], annotations: { "merlon.dev/listen-ports": "8080:21080" } }))
    expect(registry.workloads.get("foo/a")?.ports[0]?.listen).toBe(15080)
  })

  it("has its TCP ports in order, without xserver's and without duplicates", () => {
    const { registry } = setUp()
    const ports = [{ containerPort: 53, protocol: "UDP" }, PORT, { containerPort: 9090, name: "metrics" }, PORT]
    registry.setPod(podOf("foo/a", { ports }))
    expect(registry.workloads.get("foo/a")?.ports.map(({ port, listen, name }) => [port, listen, name])).toEqual([
      [8080, 15_080, undefined],
      [9090, 15_081, "metrics"],
    ])
  })

  it("is removed once it has finished", () => {
    const { registry, changes } = setUp()
    registry.setPod(podOf("foo/a"))
    registry.setPod(podOf("foo/a", { status: { phase: "Succeeded" } }))
    expect(registry.workloads.size).toBe(0)
    expect(changes.length).toBe(2)
  })

  it("has the probes of its annotation", () => {
    const { registry, warnings } = setUp()
    const probe = { kind: "http", port: 8080, path: "/ok", headers: { "x-a": "b" }, timeoutMs: 1000 }
    registry.setPod(podOf("foo/a", { annotations: { "merlon.dev/probes": JSON.stringify({ "/p": probe }) } }))
    expect(registry.workloads.get("foo/a")?.probes).toEqual({ "/p": probe })
    expect(warnings).toEqual([])
  })

  test.each([
    "{",
    "[]",
    "null",
    '"x"',
    '{"/p": null}',
    '{"p": {"kind":"tcp","port":1,"path":"","headers":{},"timeoutMs":1}}',
    '{"/p": {"kind":"exec","port":1,"path":"","headers":{},"timeoutMs":1}}',
    '{"/p": {"kind":"tcp","port":70000,"path":"","headers":{},"timeoutMs":1}}',
    '{"/p": {"kind":"tcp","port":1,"path":"","headers":{"a":1},"timeoutMs":1}}',
    '{"/p": {"kind":"tcp","port":1,"path":"","headers":{},"timeoutMs":0}}',
    `{"/p": "${"x".repeat(70_000)}"}`,
  ])("has no probes and a warning if the annotation is %.40s", text => {
    const { registry, warnings } = setUp()
    registry.setPod(podOf("foo/a", { annotations: { "merlon.dev/probes": text } }))
    expect(registry.workloads.get("foo/a")?.probes).toEqual({})
    registry.setPod(podOf("foo/a", { annotations: { "merlon.dev/probes": text, heartbeat: "2" } }))
    expect(warnings).toEqual([expect.stringContaining("foo/a: the annotation `merlon.dev/probes`")])
  })

  test.each([
    undefined,
    null,
    7,
    "x",
    [],
    { containers: 5 },
    { containers: [null, { ports: [null, { containerPort: "x" }] }] },
  ])("has no ports with the spec %j", spec => {
    const { registry } = setUp()
    registry.setPod({ ...podOf("foo/a"), spec, status: spec })
    expect(registry.workloads.get("foo/a")).toMatchObject({ ports: [], serviceAccount: "default", ready: false })
  })
})

describe("the protocol of a port", () => {
  const web = { app: "web" }
  const protocolOf = (ports: readonly object[], ...services: ReturnType<typeof serviceOf>[]) => {
    const { registry } = setUp()
    for (const service of services) registry.setService(service)
    registry.setPod(podOf("foo/a", { labels: web, ports }))
    return registry.workloads
      .get("foo/a")
      ?.ports.map(({ protocol, upstreamProtocol }) => `${protocol} ${upstreamProtocol}`)[0]
  }

  test.each([
    [{ appProtocol: "http" }, "http http/1.1"],
    [{ appProtocol: "HTTP" }, "http http/1.1"],
    [{ appProtocol: "http2" }, "http h2c"],
    [{ appProtocol: "h2c" }, "http h2c"],
    [{ appProtocol: "kubernetes.io/h2c" }, "http h2c"],
    [{ appProtocol: "grpc" }, "http h2c"],
    [{ appProtocol: "https" }, "tcp http/1.1"],
    [{ appProtocol: "tcp" }, "tcp http/1.1"],
    [{ appProtocol: "example.org/own", name: "http-x" }, "http http/1.1"],
    [{ appProtocol: "tcp", name: "http" }, "tcp http/1.1"],
    [{ name: "http" }, "http http/1.1"],
    [{ name: "http-admin" }, "http http/1.1"],
    [{ name: "http2-x" }, "http h2c"],
    [{ name: "grpc" }, "http h2c"],
    [{ name: "grpc-web" }, "http http/1.1"],
    [{ name: "https-x" }, "tcp http/1.1"],
    [{ name: "tls" }, "tcp http/1.1"],
    [{ name: "httpbin" }, "auto http/1.1"],
    [{}, "auto http/1.1"],
  ])("of the Service port %j is %s", (port, expected) => {
    expect(protocolOf([PORT], serviceOf("foo/web", web, [{ port: 80, targetPort: 8080, ...port }]))).toBe(expected)
  })

  it("comes from the container port's name if no Service declares one", () => {
    expect(protocolOf([{ ...PORT, name: "grpc" }], serviceOf("foo/web", web, [{ port: 8080 }]))).toBe("http h2c")
  })

  it("comes from the most explicit Service, then from the oldest", () => {
    const at = (creationTimestamp: string) => ({ creationTimestamp })
    const named = serviceOf("foo/a", web, [{ port: 8080, name: "http" }], at("2026-01-01T00:00:00Z"))
    const later = serviceOf("foo/b", web, [{ port: 8080, appProtocol: "grpc" }], at("2026-01-03T00:00:00Z"))
    const earlier = serviceOf("foo/c", web, [{ port: 8080, appProtocol: "tcp" }], at("2026-01-02T00:00:00Z"))
    const ageless = serviceOf("foo/d", web, [{ port: 8080, appProtocol: "http" }])
    expect(protocolOf([PORT], named)).toBe("http http/1.1")
    expect(protocolOf([PORT], named, later)).toBe("http h2c")
    for (const services of [
      [ageless, later, earlier, named],
      [named, earlier, later, ageless],
    ]) {
      expect(protocolOf([PORT], ...services)).toBe("tcp http/1.1")
    }
  })
})

describe("a Service", () => {
  it("gives its target ports all spellings of its name", () => {
    const { registry } = setUp()
    registry.setPod(
      podOf("foo/a", { labels: { app: "web" }, ports: [{ containerPort: 80, name: "main" }, { containerPort: 81 }] }),
    )
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 8000, targetPort: "main" }]))
    const ports = registry.workloads.get("foo/a")?.ports
    expect(ports?.[0]?.serviceNames).toEqual(["web", "web.foo", "web.foo.svc", "web.foo.svc.cluster.local"])
    expect(ports?.[1]?.serviceNames).toEqual([])
  })

  it("that points at xserver's port maps to the application's", () => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a", { labels: { app: "web" }, ports: [PORT, { containerPort: 9090 }] }))
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 80, targetPort: 15_081, name: "http" }]))
    expect(registry.workloads.get("foo/a")?.ports.map(({ protocol }) => protocol)).toEqual(["auto", "http"])
  })

  it("without a selector has no workloads", () => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a"))
    for (const selector of [undefined, {}]) {
      registry.setService(serviceOf("foo/web", selector, [{ port: 80 }]))
      const entry = registry.services.get("web.foo.svc.cluster.local")
      expect(entry && [...registry.behind(entry)]).toEqual([])
    }
  })

  it("of type ExternalName has no workloads", () => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a", { labels: { app: "web" } }))
    const service = serviceOf("foo/web", { app: "web" }, [{ port: 80 }])
    registry.setService({ ...service, spec: { ...(service.spec as object), type: "ExternalName" } })
    expect(registry.services.get("web.foo.svc.cluster.local")?.selector).toBeUndefined()
  })

  it("selects only by labels, not by inherited properties", () => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a", { labels: { app: "web" } }))
    const inherited = JSON.parse('{"__proto__": "x", "constructor": "y"}')
    registry.setService(serviceOf("foo/web", inherited, [{ port: 80 }]))
    const entry = registry.services.get("web.foo.svc.cluster.local")
    expect(entry && [...registry.behind(entry)]).toEqual([])
    registry.setPod(podOf("foo/b", { labels: inherited }))
    expect(entry && [...registry.behind(entry)].map(({ key }) => key)).toEqual(["foo/b"])
  })

  it("selects only in its own namespace", () => {
    const { registry } = setUp()
    registry.setPod(podOf("foo/a", { labels: { app: "web" } }))
    registry.setPod(podOf("bar/a", { labels: { app: "web" } }))
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 80 }]))
    const entry = registry.services.get("web.foo.svc.cluster.local")
    expect(entry && [...registry.behind(entry)].map(({ key }) => key)).toEqual(["foo/a"])
  })
})

describe("an announcement", () => {
  it("is not made if a Pod's change has no effect", () => {
    const { registry, changes } = setUp()
    registry.setPod(podOf("foo/a"))
    const before = registry.workloads.get("foo/a")
    registry.setPod(
      podOf("foo/a", { metadata: { resourceVersion: "2", managedFields: [] }, annotations: { note: "x" } }),
    )
    expect(changes.length).toBe(1)
    expect(registry.workloads.get("foo/a")).toBe(before)
  })

  it("names only Services whose Pods were added, removed or changed", () => {
    const { registry, changes } = setUp()
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 80 }]))
    registry.setService(serviceOf("foo/db", { app: "db" }, [{ port: 80 }]))
    changes.length = 0
    registry.setPod(podOf("foo/a", { labels: { app: "web" } }))
    registry.setPod(podOf("foo/a", { labels: { app: "db" } }))
    registry.deletePod("foo", "a")
    registry.deletePod("foo", "a")
    const [web, db] = ["web.foo.svc.cluster.local", "db.foo.svc.cluster.local"]
    expect(changes).toEqual([
      { workloads: ["foo/a"], services: [web] },
      { workloads: ["foo/a"], services: [db, web] },
      { workloads: ["foo/a"], services: [db] },
    ])
  })

  it("names no workload if a Service changes nothing about its workloads", () => {
    const { registry, changes } = setUp()
    registry.setPod(podOf("foo/a", { labels: { app: "web" }, ports: [PORT] }))
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 80, targetPort: 9999 }]))
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 81, targetPort: 9999 }]))
    registry.setService(serviceOf("foo/web", { app: "web" }, [{ port: 81, targetPort: 8080 }]))
    expect(changes.slice(2)).toEqual([
      { workloads: [], services: ["web.foo.svc.cluster.local"] },
      { workloads: ["foo/a"], services: ["web.foo.svc.cluster.local"] },
    ])
  })
})

it("takes existing, added and deleted objects from the reflectors", async () => {
  const { registry } = setUp()
  const pods = new ManualReflected([podOf("foo/a", { labels: { app: "web" }, ports: [PORT] })])
  const services = new ManualReflected([serviceOf("foo/web", { app: "web" }, [{ port: 8080 }])])
  const feed = feedRegistry(registry, { pods, services })
  await feed.synced
  expect(registry.workloads.get("foo/a")?.ports[0]?.serviceNames).toContain("web.foo")
  pods.set(podOf("foo/b"))
  services.delete("foo/web")
  pods.delete("foo/a")
  expect([...registry.workloads.keys()]).toEqual(["foo/b"])
  expect(registry.services.size).toBe(0)
  feed.stop()
  pods.delete("foo/b")
  expect([...registry.workloads.keys()]).toEqual(["foo/b"])
})
