// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy"
import { afterEach, describe, expect, it } from "vitest"
import { type KubernetesObject, NAMESPACES, PODS } from "../kubernetes/resource-type.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { bypassOf } from "../registry/bypass.js"
import { CaptureKeeper } from "./capture-keeper.js"
import { capturePolicy } from "./capture-policy.js"

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
    tell: () => {
      for (const listener of listeners) listener({ key: "" })
    },
  }
}

const namespace = (name: string, labels: { readonly [key: string]: string }): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
})

const pod = (conditions: readonly object[] = []): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web",
    namespace: "foo",
    labels: { "merlon.dev/capture": "service" },
    annotations: { "merlon.dev/injected": "2" },
  },
  spec: { containers: [{ name: "web", ports: [{ containerPort: 8080 }] }] },
  status: { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }, ...conditions] },
})

let keeper: CaptureKeeper | undefined
afterEach(() => keeper?.stop())

function keep(
  objects: { namespaces?: readonly KubernetesObject[]; pods?: readonly KubernetesObject[] },
  open: boolean,
) {
  const client = new MemoryClient()
  const namespaces = copyOf(objects.namespaces ?? [])
  const pods = copyOf(objects.pods ?? [])
  for (const object of namespaces.items.values()) client.put(NAMESPACES, object)
  for (const object of pods.items.values()) client.put(PODS, object)
  const tried: string[] = []
  keeper = new CaptureKeeper({
    client,
    names,
    fallback: "redirect",
    namespaces: namespaces as never, // of a copy it reads these members alone
    pods: pods as never,
    isLeader: () => true,
    warn: (message, error) => {
      throw new Error(message, { cause: error })
    },
    reach: (host, port) => {
      tried.push(`${host}:${port}`)
      return Promise.resolve(open)
    },
  })
  return { client, namespaces, tried }
}

describe("capture by Service", () => {
  it("closes the namespaces that are captured so, and no other", async () => {
    const { client, namespaces } = keep(
      {
        namespaces: [
          namespace("plain", { "merlon-injection": "enabled" }),
          namespace("confined", { "merlon-injection": "enabled", "pod-security.kubernetes.io/enforce": "restricted" }),
          namespace("chosen", { "merlon-injection": "required", "merlon-capture": "service" }),
          namespace("outside", { "pod-security.kubernetes.io/enforce": "restricted" }),
        ],
      },
      false,
    )
    await expect.poll(() => client.objects.has(POLICY("chosen")), { timeout: 30_000 }).toBe(true)
    expect(["plain", "confined", "chosen", "outside"].filter(name => client.objects.has(POLICY(name)))).toEqual([
      "confined",
      "chosen",
    ])
    namespaces.items.set("chosen", namespace("chosen", {}))
    await expect
      .poll(
        () => {
          namespaces.tell()
          return client.objects.has(POLICY("chosen"))
        },
        { timeout: 30_000, interval: 700 },
      )
      .toBe(false)
  })

  it.each([
    [true, "False", /port 8080 answers past xserver/],
    [false, "True", undefined],
  ])(
    "tries whether the application is reached past xserver (%s) and writes it on the Pod",
    async (open, status, why) => {
      const { client, tried } = keep({ pods: [pod()] }, open)
      await expect.poll(() => client.writes.length, { timeout: 30_000 }).toBe(1)
      expect(tried).toEqual(["10.0.0.7:8080"])
      const body = client.writes[0]?.body as { status?: { conditions?: readonly object[] } } | undefined // as we write it
      const conditions = body?.status?.conditions ?? []
      expect(conditions).toMatchObject([{ type: "merlon.dev/Captured", status }])
      const seen = bypassOf(pod(conditions), names)
      if (why === undefined) expect(seen).toBeUndefined()
      else expect(seen).toMatch(why)
    },
  )

  it("counts for nothing before somebody has tried", () => {
    expect(bypassOf(pod(), names)).toMatch(/nobody has tried yet/)
  })

  it("leaves xserver's own ports open, and what is not TCP", () => {
    expect(capturePolicy(names, "foo").object.spec).toMatchObject({
      podSelector: { matchLabels: { "merlon.dev/capture": "service" } },
      ingress: [
        { ports: [{ port: 15_080, endPort: 15_099 }, { port: 15_021 }, { protocol: "UDP" }, { protocol: "SCTP" }] },
      ],
    })
  })
})
