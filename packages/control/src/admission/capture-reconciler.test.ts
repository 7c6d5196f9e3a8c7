// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { afterEach, describe, expect, it } from "vitest"
import { type KubernetesObject, NAMESPACES, PODS } from "../kubernetes/resource-type.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { bypassOf } from "../registry/bypass.js"
import { capturePolicy } from "./capture-policy.js"
import { CaptureReconciler, type Reached } from "./capture-reconciler.js"

const names = meshNames()
const POLICY = (namespace: string) => `networkpolicies/${namespace}/merlon-capture`

function copyOf(objects: readonly KubernetesObject[]) {
  const listeners = new Set<(change: { key: string; object?: KubernetesObject; previous?: KubernetesObject }) => void>()
  const items = new Map(objects.map(object => [object.metadata.name, object]))
  return {
    items,
    synced: Promise.resolve(),
    onChange: (listener: (change: { key: string }) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify: () => {
      for (const listener of listeners) listener({ key: "" })
    },
  }
}

const namespace = (name: string, labels: { readonly [key: string]: string }): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
})

const pod = (conditions: readonly object[] = [], ...others: readonly string[]): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    namespace: "foo",
    labels: { "merlon.dev/capture": "service" },
    annotations: { "merlon.dev/injected": "2" },
  },
  spec: { containers: [{ name: "web", ports: [{ containerPort: 8080 }] }] },
  status: {
    phase: "Running",
    podIP: "10.0.0.7",
    podIPs: ["10.0.0.7", ...others].map(ip => ({ ip })),
    conditions: [READY, ...conditions],
  },
})

const READY = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }
/** This many seconds after that time. */
const after = (seconds: number): number => Date.parse(READY.lastTransitionTime) + seconds * 1_000

let reconciler: CaptureReconciler | undefined
afterEach(() => reconciler?.stop())

function keep(
  objects: { namespaces?: readonly KubernetesObject[]; pods?: readonly KubernetesObject[] },
  reached: {
    readonly application: Reached
    readonly xserver?: Reached
    /** At IPv6 addresses, if the result differs. */
    readonly six?: { readonly application?: Reached; readonly xserver?: Reached }
  },
  now = after(3_600),
) {
  const client = new MemoryClient()
  const namespaces = copyOf(objects.namespaces ?? [])
  const pods = copyOf(objects.pods ?? [])
  for (const object of namespaces.items.values()) client.put(NAMESPACES, object)
  for (const object of pods.items.values()) client.put(PODS, object)
  const tried: string[] = []
  reconciler = new CaptureReconciler({
    client,
    names,
    fallback: "redirect",
    namespaces: namespaces as never, // only these members of the copy are read
    pods: pods as never,
    isLeader: () => true,
    warn: (message, error) => {
      throw new Error(message, { cause: error })
    },
    reach: (host, port) => {
      tried.push(`${host}:${port}`)
      const { xserver = "answered", application } = host.includes(":") ? { ...reached, ...reached.six } : reached
      return Promise.resolve(port === 15_021 ? xserver : application)
    },
    now: () => now,
  })
  return { client, namespaces, tried }
}

describe("capture by Service", () => {
  it("closes only namespaces that are captured this way", async () => {
    const { client, namespaces } = keep(
      {
        namespaces: [
          namespace("plain", { "merlon-injection": "enabled" }),
          namespace("confined", { "merlon-injection": "enabled", "pod-security.kubernetes.io/enforce": "restricted" }),
          namespace("chosen", { "merlon-injection": "required", "merlon-capture": "service" }),
          namespace("outside", { "pod-security.kubernetes.io/enforce": "restricted" }),
        ],
      },
      { application: "silent" },
    )
    await expect.poll(() => client.objects.has(POLICY("chosen"))).toBe(true)
    expect(["plain", "confined", "chosen", "outside"].filter(name => client.objects.has(POLICY(name)))).toEqual([
      "confined",
      "chosen",
    ])
    namespaces.items.set("chosen", namespace("chosen", {}))
    await expect
      .poll(
        () => {
          namespaces.notify()
          return client.objects.has(POLICY("chosen"))
        },
        { timeout: 90_000, interval: 700 },
      )
      .toBe(false)
  })

  it.each([
    ["answered", "False", /port 8080 answers without going through xserver/],
    ["silent", "True", undefined],
    ["refused", "True", undefined],
  ] as const)(
    "tests whether xserver can be bypassed (%s) and writes it on the Pod",
    async (application, status, why) => {
      const { client, tried } = keep({ pods: [pod()] }, { application })
      await expect.poll(() => client.writes.length).toBe(1)
      expect(tried).toEqual(["10.0.0.7:15021", "10.0.0.7:8080"])
      const body = client.writes[0]?.body as { status?: { conditions?: readonly object[] } } | undefined // our own format
      const conditions = body?.status?.conditions ?? []
      expect(conditions).toMatchObject([{ type: "merlon.dev/Captured", status }])
      const seen = bypassOf(pod(conditions), names)
      if (why === undefined) expect(seen).toBeUndefined()
      else expect(seen).toMatch(why)
    },
  )

  it.each([
    ["xserver itself does not answer", { application: "silent", xserver: "silent" }, after(3_600)],
    ["the application may not listen yet", { application: "refused" }, after(10)],
  ] as const)("writes nothing while %s, and retries soon", async (_, reached, now) => {
    const { client, tried } = keep({ pods: [pod()] }, reached, now)
    await expect.poll(() => tried.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(4)
    expect(client.writes).toEqual([])
  })

  it("finds an application that is reachable only over IPv6", async () => {
    const { client } = keep({ pods: [pod([], "fd00::7")] }, { application: "silent", six: { application: "answered" } })
    await expect.poll(() => client.writes.length).toBe(1)
    expect(client.writes[0]?.body).toMatchObject({ status: { conditions: [{ status: "False" }] } })
  })

  it("writes nothing while xserver answers at only one address", async () => {
    const { client, tried } = keep(
      { pods: [pod([], "fd00::7")] },
      { application: "silent", six: { xserver: "silent" } },
    )
    await expect.poll(() => tried.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(8)
    expect(client.writes).toEqual([])
  })

  it("trusts an answer at any time", async () => {
    const { client } = keep({ pods: [pod()] }, { application: "answered", xserver: "silent" }, after(1))
    await expect.poll(() => client.writes.length, { timeout: 60_000 }).toBe(1)
  })

  it("counts as bypassed before the first attempt", () => {
    expect(bypassOf(pod(), names)).toMatch(/not checked yet/)
  })

  it("leaves xserver's own ports and other protocols than TCP open", () => {
    expect(capturePolicy(names, "foo").object.spec).toMatchObject({
      podSelector: { matchLabels: { "merlon.dev/capture": "service" } },
      ingress: [
        { ports: [{ port: 15_080, endPort: 15_099 }, { port: 15_021 }, { protocol: "UDP" }, { protocol: "SCTP" }] },
      ],
    })
  })
})
