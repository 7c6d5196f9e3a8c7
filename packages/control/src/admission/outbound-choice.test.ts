// SPDX-License-Identifier: Apache-2.0
// Outbound calls of an injected Pod are handled according to its annotations and the mesh's setting.

import { describe, expect, it, test } from "vitest"
import { admissionHandlers } from "./handlers.js"
import { injectPod } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import { patched } from "./testing/apply-patch.js"
import { app, ENABLED, injected, names as meshNames, OPTIONS, pod, type TestPod } from "./testing/pods.js"
import { question } from "./testing/requests.js"

const PROXY = "outbound.merlon.dev/proxy"
const annotated = (annotations: Record<string, string>, spec: object = {}): TestPod => pod(spec, { annotations })
const CAPTURED = annotated({ [PROXY]: "capture" })
const NATIVE = { nativeSidecar: true } as const
const MESH = { outbound: "capture" } as const
const MIGRATION = { name: "migrate", image: "app" }

const names = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)
const find = ({ spec }: TestPod, name: string) =>
  [...spec.containers, ...(spec.initContainers ?? [])].find(container => container.name === name)
const PROXY_ARGS = ["proxy", "--bootstrap", "/var/run/secrets/merlon.dev/bootstrap.json", "--outbound", "15001"]
const XSERVER_ARGS = ["xserver", "--bootstrap", "/var/run/secrets/merlon.dev/bootstrap.json"]
const CAPTURE_ARGS = ["capture", "--map", "8080:15080", "--outbound", "15001"]

test.each<[string, TestPod, Partial<InjectionOptions>, boolean]>([
  ["there is no setting", pod(), {}, false],
  ["the mesh says so", pod(), MESH, true],
  ["the mesh says no", pod(), { outbound: "off" }, false],
  ["the Pod requests it", CAPTURED, {}, true],
  ["the Pod requests it against the mesh", CAPTURED, { outbound: "off" }, true],
  ["the Pod opts out", annotated({ [PROXY]: "false" }), MESH, false],
  ["the Pod requests an http_proxy", annotated({ [PROXY]: "true" }), MESH, false],
])("decides whether to capture calls if %s", (_, before, options, captured) => {
  for (const sidecar of [{}, NATIVE]) {
    const { after, warnings } = injected(before, { ...options, ...sidecar })
    expect(find(after, "merlon-xserver")?.args).toEqual(captured ? PROXY_ARGS : XSERVER_ARGS)
    expect(find(after, "merlon-init")?.args).toEqual(captured ? CAPTURE_ARGS : CAPTURE_ARGS.slice(0, 3))
    expect(warnings).toEqual([])
  }
})

describe("the label of a namespace", () => {
  const admitted = async (before: TestPod, label: string, outbound: "capture" | "off") => {
    const handlers = admissionHandlers({
      mesh: { names: meshNames } as never, // no policy is validated here
      clusterDomain: "cluster.local",
      injection: { ...OPTIONS, outbound },
      namespaceLabels: () => ({ "merlon-injection": "required", "merlon-outbound": label }),
      portsBehind: () => undefined,
    })
    const answer = await handlers.get("/inject/enabled")?.(question(before))
    const after = patched(before, answer?.patch ?? [])
    const rejected = (await handlers.get("/validate/pods")?.(question(after)))?.rejected
    return {
      captured: JSON.stringify(find(after, "merlon-init")).includes("--outbound"),
      warnings: answer?.warnings,
      rejected,
    }
  }

  test.each<[string, TestPod, string, "capture" | "off", boolean]>([
    ["turns capture off", pod(), "off", "capture", false],
    ["turns capture on", pod(), "capture", "off", true],
    ["is overridden by a Pod that requests it", CAPTURED, "off", "capture", true],
    ["is overridden by a Pod that opts out", annotated({ [PROXY]: "false" }), "capture", "off", false],
  ])("%s", async (_, before, label, outbound, captured) => {
    expect(await admitted(before, label, outbound)).toEqual({ captured, warnings: [], rejected: undefined })
  })

  it("has no effect and gives a warning if it cannot be parsed", async () => {
    const because = "the label `merlon-outbound` of the namespace must be `capture` or `off`; `of` has no effect"
    const expected = { captured: true, warnings: [because], rejected: undefined }
    expect(await admitted(pod(), "of", "capture")).toEqual(expected)
  })
})

it("changes nothing else in the Pod", () => {
  const strip = (object: TestPod, ...own: readonly string[]): unknown => {
    const change = (list: TestPod["spec"]["containers"] = []) =>
      list.map(item => (own.includes(item.name) ? { ...item, args: [] } : item))
    const { containers, initContainers } = object.spec
    return {
      ...object,
      spec: { ...object.spec, containers: change(containers), initContainers: change(initContainers) },
    }
  }
  const before = pod({ initContainers: [MIGRATION] })
  const ours = ["merlon-xserver", "merlon-init"]
  const captured = injected(before, { ...NATIVE, ...MESH }).after
  expect(strip(captured, ...ours)).toEqual(strip(injected(before, NATIVE).after, ...ours))
})

it("gives the application no http_proxy and no second container", () => {
  const { after } = injected(CAPTURED)
  expect(find(after, "merlon-xclient")).toBe(undefined)
  expect(find(after, "app")?.env).toBe(undefined)
})

describe("the order of containers", () => {
  it("starts a native proxy after the rules and before the application's init containers", () => {
    const { after } = injected(pod({ initContainers: [MIGRATION] }), { ...NATIVE, ...MESH })
    expect(names(after.spec.initContainers)).toEqual(["merlon-init", "merlon-xserver", "migrate"])
    expect(find(after, "merlon-xserver")).toMatchObject({ restartPolicy: "Always", lifecycle: { preStop: {} } })
    expect(find(after, "merlon-xserver")?.lifecycle).not.toHaveProperty("postStart")
  })

  it("sets the rules after the init containers if the proxy is a plain container", () => {
    const { after } = injected(pod({ initContainers: [MIGRATION] }), MESH)
    expect(names(after.spec.initContainers)).toEqual(["migrate", "merlon-init"])
    expect(names(after.spec.containers)).toEqual(["merlon-xserver", "app"])
  })

  it("starts the application when a plain proxy is ready", () => {
    const { after } = injected(pod(), MESH)
    const postStart = { exec: { command: ["/usr/local/bin/merlond", "wait"] } }
    expect(find(after, "merlon-xserver")?.lifecycle).toMatchObject({ postStart, preStop: {} })
    expect(find(injected(pod()).after, "merlon-xserver")?.lifecycle).not.toHaveProperty("postStart")
  })
})

it("passes the lists on", () => {
  const limits = {
    "outbound.merlon.dev/exclude-ports": "5432,6379",
    "outbound.merlon.dev/exclude-cidrs": "10.0.0.0/8",
    "outbound.merlon.dev/include-cidrs": "0.0.0.0/0,fd00::/8",
  }
  const { after, warnings } = injected(annotated({ [PROXY]: "capture", ...limits }), { udp: "refuse" })
  expect(find(after, "merlon-init")?.args).toEqual([
    ...CAPTURE_ARGS,
    ...["--exclude-outbound-ports", "5432,6379"],
    ...["--exclude-outbound-cidrs", "10.0.0.0/8"],
    ...["--include-outbound-cidrs", "0.0.0.0/0,fd00::/8"],
    ...["--udp", "refuse"],
  ])
  expect(warnings).toEqual([])
})

test.each<[Record<string, string>, string]>([
  [{ [PROXY]: "yes" }, `\`${PROXY}\` must be \`capture\`, \`"true"\` or \`"false"\`; it is \`"yes"\``],
  [{ [PROXY]: "" }, `\`${PROXY}\` must be`],
  [{ [PROXY]: "Capture" }, `\`${PROXY}\` must be`],
  [{ "outbound.merlon.dev/exclude-ports": "http" }, "exclude-ports`: `http` is not a port"],
  [{ "outbound.merlon.dev/exclude-cidrs": "10.0.0.0/8;" }, "exclude-cidrs`: `10.0.0.0/8;` is not a CIDR block"],
  [{ "outbound.merlon.dev/include-cidrs": "" }, "include-cidrs`: `` is not a CIDR block"],
])("rejects a Pod with %j", (annotations, because) => {
  for (const options of [OPTIONS, { ...OPTIONS, ...MESH }]) {
    const result = injectPod(annotated(annotations), ENABLED, options)
    expect(result).toMatchObject({ outcome: "rejected", because: expect.stringContaining(because) })
  }
})

describe("warnings without capture", () => {
  const SIDECAR = app({ name: "logs", ports: [], restartPolicy: "Always" })

  test.each<[string, TestPod, Partial<InjectionOptions>, string]>([
    [
      "in a namespace that is captured by Service",
      CAPTURED,
      { capture: "service" },
      `set \`${PROXY}: "true"\` to give its programs an`,
    ],
    ["in a mesh that captures by Service", pod(), { capture: "service", ...MESH }, "captured by Service"],
    [
      "with a native sidecar that would start before the rules",
      pod({ initContainers: [SIDECAR] }),
      MESH,
      "the native sidecar `logs` would start before the rules",
    ],
  ])("%s", (_, before, options, because) => {
    const { after, warnings } = injected(before, options)
    expect(warnings).toEqual([expect.stringContaining(because)])
    expect(warnings[0]).toMatch(/^outbound calls of this Pod are not captured: /)
    expect(find(after, "merlon-xserver")?.args).toEqual(XSERVER_ARGS)
    expect(find(after, "merlon-init")?.args ?? []).not.toContain("--outbound")
    expect(names(after.spec.initContainers)[0]).not.toBe("logs")
  })

  it("not about a native sidecar with a native proxy", () => {
    const { after, warnings } = injected(pod({ initContainers: [SIDECAR] }), { ...NATIVE, ...MESH })
    expect(warnings).toEqual([])
    expect(names(after.spec.initContainers)).toEqual(["merlon-init", "merlon-xserver", "logs"])
  })

  it("about lists for a capture that does not exist", () => {
    const { warnings } = injected(annotated({ "outbound.merlon.dev/exclude-ports": "5432" }))
    expect(warnings).toEqual([expect.stringContaining("`outbound.merlon.dev/exclude-ports` has no effect")])
  })
})
