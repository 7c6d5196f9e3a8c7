// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util"
import { meshNames } from "@merlon/policy/mesh"
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { type KubernetesObject, objectKey } from "../kubernetes/resource-type.js"
import type { MeshServiceEntry } from "./mesh-directory.js"
import type { MeshWorkload } from "./mesh-workload.js"
import { readPod } from "./pod-reading.js"
import { Registry } from "./registry.js"
import { readService } from "./service-reading.js"
import { podOf, serviceOf } from "./testing/objects.js"
import { workloadPorts } from "./workload-ports.js"

const names = meshNames()
const runs = { numRuns: 400 * inject("effort"), interruptAfterTimeLimit: 15_000 * inject("effort") }

const namespaces = fc.constantFrom("foo", "bar")
const labels = fc.dictionary(fc.constantFrom("app", "version", "tier"), fc.constantFrom("a", "b"))
const key = (name: string) => namespaces.map(namespace => `${namespace}/${name}`)
const pods = fc
  .tuple(
    fc.constantFrom("p", "q", "r").chain(key),
    labels,
    fc.constantFrom("Running", "Pending", "Succeeded"),
    fc.subarray([{ containerPort: 80, name: "web" }, { containerPort: 81 }, { containerPort: 82 }]),
    fc.boolean(),
    fc.constantFrom("10.0.0.1", "10.0.0.2", "fd00::1"),
  )
  .map(([key, labels, phase, ports, proxied, podIP]) =>
    podOf(key, { labels, ports, proxied, status: { phase, podIP } }),
  )
const services = fc
  .tuple(
    fc.constantFrom("s", "t").chain(key),
    fc.option(labels, { nil: undefined }),
    fc.array(
      fc.record({
        port: fc.constant(80),
        targetPort: fc.constantFrom(80, 81, "web"),
        name: fc.constantFrom("http", "tcp"),
      }),
      { maxLength: 2 },
    ),
    fc.constantFrom("10.96.0.1", "10.96.0.2", "None", undefined),
  )
  .map(([key, selector, ports, clusterIP]) => serviceOf(key, selector, ports, {}, { clusterIP }))
type Step = { readonly set: KubernetesObject } | { readonly remove: KubernetesObject }
const steps = fc.array(
  fc.oneof(pods, services).chain(object => fc.constantFrom<Step>({ set: object }, { set: object }, { remove: object })),
  { maxLength: 25 },
)

const ADDRESSES = ["10.0.0.1", "10.0.0.2", "fd00::1", "10.96.0.1", "10.96.0.2", "None"]

interface State {
  readonly workloads: ReadonlyMap<string, MeshWorkload>
  /** The entry and the workloads behind it. */
  readonly services: ReadonlyMap<string, { readonly entry: MeshServiceEntry; readonly behind: readonly MeshWorkload[] }>
}

function naive(objects: ReadonlyMap<string, KubernetesObject>): State {
  const ofKind = (kind: string) => [...objects.values()].filter(object => object.kind === kind)
  const facts = ofKind("Service").map(service => readService(service, "cluster.local"))
  const selects = (selector: Readonly<Record<string, string>> | undefined, namespace: string, pod: KubernetesObject) =>
    selector !== undefined &&
    pod.metadata.namespace === namespace &&
    Object.entries(selector).every(([key, value]) => pod.metadata.labels?.[key] === value)
  const workloads = new Map<string, MeshWorkload>()
  for (const pod of ofKind("Pod")) {
    const read = readPod(pod, names, () => {})
    if (read === undefined) continue
    const leading = facts.filter(({ entry }) => selects(entry.selector, entry.namespace, pod))
    const services = leading.map(({ entry }) => entry.name).sort()
    workloads.set(objectKey(pod), { ...read, services, ports: workloadPorts(read.ports, leading) })
  }
  const services = new Map<string, State["services"] extends ReadonlyMap<string, infer V> ? V : never>()
  for (const { entry } of facts) {
    const behind = [...workloads.values()].filter(({ key }) => {
      const pod = objects.get(`Pod ${key}`)
      return pod !== undefined && selects(entry.selector, entry.namespace, pod)
    })
    services.set(entry.host, { entry, behind })
  }
  return { workloads, services }
}

function stateOf(registry: Registry): State {
  const services = [...registry.services].map(
    ([host, entry]) => [host, { entry, behind: [...registry.behind(entry)] }] as const,
  )
  return { workloads: new Map(registry.workloads), services: new Map(services) }
}

function sorted({ workloads, services }: State) {
  const byKey = <T>(entries: Iterable<[string, T]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    workloads: byKey(workloads),
    services: byKey(services).map(([host, { entry, behind }]) => [host, entry, behind.map(({ key }) => key).sort()]),
  }
}

const nameOf = (item: { readonly namespace: string; readonly name: string; readonly host?: string }): string =>
  item.host ?? `${item.namespace}/${item.name}`

function atAddresses({ workloads, services }: State): ReadonlyMap<string, readonly string[]> {
  const items = [...workloads.values(), ...[...services.values()].map(({ entry }) => entry)]
  const at = (address: string) => items.filter(item => item.addresses.includes(address)).map(nameOf)
  return new Map(ADDRESSES.map(address => [address, at(address).sort()]))
}

function different<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): string[] {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter(key => !isDeepStrictEqual(before.get(key), after.get(key)))
}

it("equals a computation from scratch after any changes, and announces every difference", () => {
  let compared = 0
  fc.assert(
    fc.property(steps, fc.tuple(labels, namespaces), (changes, [wanted, namespace]) => {
      const registry = new Registry({ names })
      const objects = new Map<string, KubernetesObject>()
      const workloads = new Set<string>()
      const hosts = new Set<string>()
      const addresses = new Set<string>()
      registry.onChange(change => {
        for (const key of change.workloads) workloads.add(key)
        for (const host of change.services) hosts.add(host)
        for (const address of change.addresses) addresses.add(address)
      })
      for (const change of changes) {
        const before = naive(objects)
        const identities = new Map(registry.workloads)
        workloads.clear()
        hosts.clear()
        addresses.clear()
        apply(registry, objects, change)
        const after = naive(objects)
        expect(sorted(stateOf(registry))).toEqual(sorted(after))
        expect([...workloads].sort()).toEqual(different(before.workloads, after.workloads).sort())
        expect([...hosts]).toEqual(expect.arrayContaining(different(before.services, after.services)))
        expect([...addresses]).toEqual(expect.arrayContaining(different(atAddresses(before), atAddresses(after))))
        for (const [address, names] of atAddresses(after)) {
          const { services, workloads } = registry.at(address)
          expect([...services, ...workloads].map(nameOf).sort()).toEqual(names)
        }
        for (const [key, workload] of registry.workloads) {
          if (!workloads.has(key)) expect(workload).toBe(identities.get(key))
        }
        compared += after.workloads.size + after.services.size
      }
      for (const place of [namespace, undefined]) {
        const selected = [...registry.select(wanted, place)].map(({ key }) => key).sort()
        const expected = [...registry.workloads.values()].filter(
          workload =>
            (place === undefined || workload.namespace === place) &&
            Object.entries(wanted).every(([key, value]) => workload.labels[key] === value),
        )
        expect(selected).toEqual(expected.map(({ key }) => key).sort())
      }
    }),
    runs,
  )
  expect(compared).toBeGreaterThan(100)
})

function apply(registry: Registry, objects: Map<string, KubernetesObject>, change: Step): void {
  const object = "set" in change ? change.set : change.remove
  const { namespace = "", name } = object.metadata
  const isPod = object.kind === "Pod"
  if ("set" in change) {
    objects.set(`${object.kind} ${objectKey(object)}`, object)
    if (isPod) registry.setPod(object)
    else registry.setService(object)
  } else {
    objects.delete(`${object.kind} ${objectKey(object)}`)
    if (isPod) registry.deletePod(namespace, name)
    else registry.deleteService(namespace, name)
  }
}
