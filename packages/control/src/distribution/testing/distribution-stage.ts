// SPDX-License-Identifier: Apache-2.0
// A distribution for a small mesh, and callers with every kind of credentials.
import { PROXY_RESOURCE } from "@merlon/xds"
import type { Caller, ClientNode, HeldVersions, Snapshot, Subscriber } from "@merlon/xds/server"
import { expect } from "vitest"
import { podOf } from "../../registry/testing/objects.js"
import { MESH, policyOf, viewsStage } from "../../snapshot/testing/views-stage.js"
import { ConnectedProxies } from "../connected-proxies.js"
import type { RouteResources } from "../delegate.js"
import { Distribution } from "../distribution.js"

export const AP = "AuthorizationPolicy"
export const ROUTES = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
export const caller = (change: Partial<Caller> = {}): Caller => ({
  trustDomain: "cluster.local",
  namespace: "foo",
  serviceAccount: "web",
  proof: "token",
  pod: "a",
  ...change,
})
/** With a certificate of the Pod. */
export const certified = (change: Partial<Caller> = {}): Caller =>
  caller({ proof: "certificate", serial: "0abc1", podUid: "uid-foo/a", ...change })
/** With a certificate that was issued for a token without a Pod. */
export const unbound = (change: Partial<Caller> = {}): Caller => {
  const { pod: _pod, ...rest } = caller(change)
  return { ...rest, proof: "certificate", serial: "0abc1" }
}
export const node = (id = "foo/a", metadata: ClientNode["metadata"] = {}): ClientNode => ({
  id,
  metadata,
  peerAddress: "10.0.0.9",
})

type ShownAtOnce = Omit<Subscriber, "snapshot"> & { snapshot(typeUrl: string): Snapshot }

export function setUp() {
  const stage = viewsStage()
  const { registry, views, trust, scheduler } = stage
  registry.setPod(podOf("foo/a", { serviceAccount: "web", labels: { app: "web" } }))
  registry.setPod(podOf("foo/other", { serviceAccount: "other" }))
  registry.setPod(podOf("foo/bare", { serviceAccount: "web", proxied: false }))
  stage.settle()
  const clock = { now: 1_000 }
  const proxies = new ConnectedProxies({ scheduler, now: () => clock.now })
  const presence: string[] = []
  const routes: { names: "*" | ReadonlySet<string>; wake: () => void; closed: boolean; answers: string[] }[] = []
  const routeResources: RouteResources = {
    serves: typeUrl => typeUrl === ROUTES,
    watch: (_client, _typeUrl, names, wake) => {
      const watch = { names, wake, closed: false, answers: [] as string[] }
      routes.push(watch)
      const snapshot: Snapshot = { revision: 7, resources: new Map() }
      return {
        snapshot: () => snapshot,
        acknowledged: revision => watch.answers.push(String(revision)),
        rejected: (revision, message) => watch.answers.push(`${revision}: ${message}`),
        close: () => {
          watch.closed = true
        },
      }
    },
  }
  const reads: (() => void)[] = []
  const distribution = new Distribution({
    mesh: MESH,
    directory: registry,
    trust,
    views,
    proxies,
    routes: routeResources,
    readAgain: () => new Promise(resolve => reads.push(resolve)),
    presence: {
      enforcing: (key, { peerAddress }) => {
        presence.push(`enforcing ${key} from ${peerAddress}`)
        return () => presence.push(`gone ${key}`)
      },
    },
  })
  const woken: string[] = []
  const open = (who: Caller, from: ClientNode, held: HeldVersions): Subscriber => {
    expect(distribution.mayWatch(who, from, PROXY_RESOURCE)).toBeUndefined()
    const subscriber = distribution.open(who, from, typeUrl => woken.push(typeUrl))
    if ("code" in subscriber) throw new Error(subscriber.message)
    subscriber.watch(PROXY_RESOURCE, "*", held)
    return subscriber
  }
  // A client without earlier resources is sent everything at once.
  const connect = (who = caller(), from = node()) => open(who, from, new Map()) as ShownAtOnce
  /** A proxy that had a stream before. */
  const reconnect = (held: HeldVersions): Subscriber => open(caller(), node(), held)
  const apply = (name: string, generation = 1): void => {
    stage.policies.set(AP, policyOf(AP, `foo/${name}`, {}, { generation }))
    stage.settle()
  }
  return { ...stage, distribution, proxies, presence, routes, reads, woken, connect, reconnect, apply, clock }
}
