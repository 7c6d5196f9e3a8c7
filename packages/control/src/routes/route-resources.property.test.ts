// SPDX-License-Identifier: Apache-2.0
// For changes in any order: a watch that saw all of them ends with the same resources as a new watch, and every watch
// whose resources changed was notified.

import type { MeshService, PeerAuthentication } from "@merlon/policy/resources"
import { CLUSTER, ENDPOINTS, HOST_ROUTES, LISTENER, loadRouteEncoders, ROUTE_CONFIGURATION } from "@merlon/xds"
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import type { RouteWatch } from "../distribution/delegate.js"
import { ManualScheduler, ManualTrust } from "../snapshot/testing/manual-sources.js"
import { PeerModeSource } from "./peer-mode-source.js"
import { MeshRoutes } from "./route-resources.js"
import { MemoryDirectory, MemoryDocuments } from "./testing/memory-directory.js"
import { MESH, meshService, peerAuthentication, service, workload } from "./testing/mesh.js"

const encoders = await loadRouteEncoders()
const NAMES = ["a", "b", "c"] as const
const TYPES = [LISTENER, ROUTE_CONFIGURATION, CLUSTER, ENDPOINTS, HOST_ROUTES]
const clusterIP = (name: string) => `10.96.0.${name.charCodeAt(0)}`
const podIP = (name: string) => `10.0.0.${name.charCodeAt(0)}`
const HOSTS = NAMES.flatMap(name => [
  ...[`${name}.app:80`, `${name}.app.svc.cluster.local:81`, `${name}.app`, `${name}:80`],
  ...[`${clusterIP(name)}:80`, `${podIP(name)}:8080`, `${podIP(name)}:15080`],
])
const CLUSTERS = NAMES.flatMap(name =>
  ["", "v1", "v2"].flatMap(subset => [80, 81].map(port => `outbound|${port}|${subset}|${name}.app.svc.cluster.local`)),
).concat(NAMES.map(name => `outbound|8080||${podIP(name)}`))
const clientOf = (namespace: string) =>
  ({
    caller: { trustDomain: "cluster.local", namespace, serviceAccount: "x", proof: "token" },
    node: { id: `${namespace}/x`, metadata: {}, peerAddress: "10.0.0.9" },
  }) as const

const name = fc.constantFrom(...NAMES)
const version = fc.constantFrom("v1", "v2")
const spelling = fc.constantFrom<(name: string) => string>(
  text => text,
  text => `${text}.app`,
  text => `${text}.app.svc.cluster.local`,
)
const mode = fc.constantFrom("STRICT", "PERMISSIVE", "DISABLE")
const tls = fc.constantFrom(
  {},
  ...["DISABLE", "DUBBO_MUTUAL"].map(each => ({ trafficPolicy: { tls: { mode: each } } })),
)
const port = fc.constantFrom({}, { port: { number: 81 } }, { port: { name: "p80" } }, { port: { name: "p81" } })
const destination = fc
  .tuple(name, spelling, fc.option(version), port, tls)
  .map(([host, spelt, subset, ...more]) =>
    Object.assign(
      { host: spelt(host), ...(subset === null ? {} : { name: subset, labels: { version: subset } }) },
      ...more,
    ),
  )

interface World {
  readonly directory: MemoryDirectory
  readonly meshServices: MemoryDocuments<MeshService>
  readonly peerAuthentications: MemoryDocuments<PeerAuthentication>
  readonly trust: ManualTrust
}
type Step = (world: World) => void

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(name, name, version, fc.boolean(), fc.boolean()).map(
    ([key, app, labelled, ready, proxied]): Step =>
      ({ directory }) => {
        // With the label `a`, two workloads share an address.
        const addresses = [podIP(app === "a" ? app : key)]
        const words = { labels: { app, version: labelled }, ready, proxied, addresses }
        directory.setWorkload(`app/${key}`, workload(key, words))
      },
  ),
  name.map(
    (key): Step =>
      ({ directory }) =>
        directory.setWorkload(`app/${key}`, undefined),
  ),
  fc.tuple(name, fc.subarray([80, 81]), fc.subarray(NAMES.map(clusterIP), { maxLength: 1 }), fc.boolean()).map(
    ([each, numbers, addresses, selecting]): Step =>
      ({ directory }) => {
        const ports = numbers.map(number => ({ port: number, name: `p${number}`, targetPort: 8080 }))
        directory.setService(service(each, { ports, addresses, ...(selecting ? {} : { selector: undefined }) }))
      },
  ),
  name.map(
    (each): Step =>
      ({ directory }) =>
        directory.removeService(`${each}.app.svc.cluster.local`),
  ),
  fc
    .tuple(
      name,
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.tuple(name, spelling), { minLength: 1, maxLength: 2 }),
      fc.array(destination, { minLength: 1, maxLength: 3 }),
      tls,
      fc.constantFrom("app", "app", "shop", MESH.names.rootNamespace),
    )
    .map(
      ([key, day, hosts, destinations, policy, namespace]): Step =>
        ({ meshServices }) => {
          const spec = {
            hosts: hosts.map(([host, spelt]) => spelt(host)),
            ...policy,
            routes: [{ service: destinations }],
          }
          meshServices.set(meshService(key, spec, { namespace, created: `2026-01-0${day}T00:00:00Z` }))
        },
    ),
  name.map(
    (key): Step =>
      ({ meshServices }) =>
        meshServices.remove(`app/${key}`),
  ),
  fc.tuple(name, mode).map(
    ([key, each]): Step =>
      ({ peerAuthentications }) => {
        peerAuthentications.set(peerAuthentication(key, { mtls: { mode: each } }))
      },
  ),
  name.map(
    (key): Step =>
      ({ peerAuthentications }) =>
        peerAuthentications.remove(`app/${key}`),
  ),
  fc.constantFrom("A", "B").map(
    (serial): Step =>
      ({ trust }) =>
        trust.set({ revokedSerials: [serial] }),
  ),
)

function routesOf(
  { directory, meshServices, peerAuthentications, trust }: World,
  scheduler: ManualScheduler,
): MeshRoutes {
  const modes = new PeerModeSource(peerAuthentications, MESH)
  return new MeshRoutes({ directory, meshServices, modes, trust, encoders, mesh: MESH, scheduler })
}

function seen(watch: RouteWatch): object {
  const { resources } = watch.snapshot()
  const names = [...resources.keys()].sort((a, b) => (a < b ? -1 : 1))
  return Object.fromEntries(names.map(key => [key, resources.get(key)?.version]))
}

it("a permanent watch ends like a new one", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(steps, fc.boolean()), { maxLength: 25 }), plan => {
      const world: World = {
        directory: new MemoryDirectory(),
        meshServices: new MemoryDocuments<MeshService>(),
        peerAuthentications: new MemoryDocuments<PeerAuthentication>(),
        trust: new ManualTrust(),
      }
      const scheduler = new ManualScheduler()
      const routes = routesOf(world, scheduler)
      const woken = new Set<string>()
      const asked = TYPES.flatMap(typeUrl =>
        ["app", "shop"].flatMap(namespace =>
          (["*", new Set([...HOSTS, ...CLUSTERS])] as const).map(names => ({
            typeUrl,
            names,
            client: clientOf(namespace),
          })),
        ),
      )
      const watches = asked.map(({ typeUrl, names, client }, index) =>
        routes.watch(client, typeUrl, names, () => woken.add(String(index))),
      )
      let before = watches.map(seen)
      for (const [step, settle] of plan) {
        step(world)
        if (!settle) continue
        scheduler.advance(10)
        const fresh = routesOf(world, new ManualScheduler())
        for (const [index, { typeUrl, names, client }] of asked.entries()) {
          const watch = watches[index]
          if (watch === undefined) throw new TypeError("one watch each")
          const now = seen(watch)
          expect(now).toEqual(seen(fresh.watch(client, typeUrl, names, () => {})))
          expect(woken.has(String(index))).toBe(JSON.stringify(now) !== JSON.stringify(before[index]))
        }
        fresh.close()
        woken.clear()
        before = watches.map(seen)
      }
    }),
    { numRuns: 60 * inject("effort") },
  )
})
