// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { Registry } from "../registry/registry.js"
import { podOf, serviceOf } from "../registry/testing/objects.js"
import { statusOf } from "./conditions.js"
import { targetsOf } from "./service-targets.js"
import { document, mesh } from "./testing/documents.js"

const services = (...names: readonly string[]): readonly object[] => names.map(name => ({ kind: "Service", name }))
const gatewayApi = (kind: string, name: string): object => ({ group: "gateway.networking.k8s.io", kind, name })

const PROXIES = {
  authorizers: { all: 0, enforcing: 0 },
  waiting: [],
  disconnected: [],
  rejected: [],
  rejection: undefined,
}

function resultOf(targetRefs: readonly object[], workloads: number): { readonly [type: string]: string } {
  const policy = document("AuthorizationPolicy", "p", {
    targetRefs,
    rules: [{}],
  })
  const registry = new Registry({ names: mesh.names })
  registry.setPod(podOf("foo/a", { labels: { app: "web", "merlon.dev/gateway": "public" } }))
  registry.setService(serviceOf("foo/web", { app: "web" }, []))
  registry.setService(serviceOf("foo/blind", undefined, []))
  registry.setService(serviceOf("foo/empty", { app: "nobody" }, []))
  registry.setService(serviceOf("bar/elsewhere", { app: "web" }, []))
  const selected = [...registry.workloads.values()].slice(0, workloads)
  const targets = targetsOf(policy, selected, registry, { clusterDomain: "cluster.local", names: mesh.names })
  const reach = {
    workloads,
    unproxied: [],
    outside: [],
    bypassable: [],
    udp: [],
    pending: 0,
    nearest: undefined,
    missing: [],
    targets,
  }
  const { conditions = [] } = statusOf({
    document: policy,
    kind: policy.kind,
    namespace: "foo",
    generation: 1,
    errors: [],
    mesh,
    reach,
    enforcement: { ...PROXIES, proxies: workloads, enforcing: workloads },
    clients: undefined,
    governedByOthers: [],
    guestHosts: [],
    keySets: [],
    inlineKeySets: 0,
    superseded: undefined,
    now: 0,
    previous: undefined,
  })
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
  )
}

test.each<[string, readonly object[], number, { readonly [type: string]: string }]>([
  [
    "that exist",
    services("web"),
    1,
    {
      Accepted: "True Valid: allows every request, on 1 workload in `foo`",
      MatchesWorkloads: "True Selected: selects 1 workload",
      Enforced: "True AllProxies: enforced by 1 of 1 proxy at generation 1",
      Ready: "True Ready: enforced by 1 of 1 proxy at generation 1",
    },
  ],
  [
    "none of which exist in its namespace",
    services("wbe", "elsewhere"),
    0,
    {
      Accepted:
        "False TargetNotFound: no Service `wbe` and `elsewhere` in `foo`; create it, or name another; until then the policy applies to no workload",
      MatchesWorkloads: "False NoWorkloads: no Service `wbe` and `elsewhere` in `foo`",
      Enforced: "False NoWorkloads: not enforced: it selects no workload",
      Ready:
        "False TargetNotFound: no Service `wbe` and `elsewhere` in `foo`; create it, or name another; until then the policy applies to no workload",
    },
  ],
  [
    "one of which exists",
    services("web", "wbe"),
    1,
    {
      Accepted: "True Valid: allows every request, on 1 workload in `foo`",
      MatchesWorkloads: "True Selected: selects 1 workload; no Service `wbe` in `foo`",
      Enforced: "True AllProxies: enforced by 1 of 1 proxy at generation 1",
      Ready: "False TargetNotFound: no Service `wbe` in `foo`",
    },
  ],
  [
    "without workloads",
    services("blind", "empty"),
    0,
    {
      Accepted: "True Valid: allows every request, on 0 workloads in `foo`",
      MatchesWorkloads:
        "False NoWorkloads: the Service `blind` has no selector, so its workloads are unknown; no workload is behind the Service `empty`",
      Enforced: "False NoWorkloads: not enforced: it selects no workload",
      Ready:
        "False NoWorkloads: the Service `blind` has no selector, so its workloads are unknown; no workload is behind the Service `empty`",
    },
  ],
  [
    "with an authorizer",
    [gatewayApi("Gateway", "public")],
    1,
    {
      Accepted: "True Valid: allows every request, on 1 workload in `foo`",
      MatchesWorkloads: "True Selected: selects 1 workload",
      Enforced: "True AllProxies: enforced by 1 of 1 proxy at generation 1",
      Ready: "True Ready: enforced by 1 of 1 proxy at generation 1",
    },
  ],
  [
    "one of which has no authorizer",
    [gatewayApi("Gateway", "public"), gatewayApi("HTTPRoute", "public")],
    1,
    {
      Accepted: "True Valid: allows every request, on 1 workload in `foo`",
      MatchesWorkloads:
        "True Selected: selects 1 workload; no authorizer in `foo` has the label `merlon.dev/http-route=public` of the HTTPRoute public",
      Enforced:
        "False NoAuthorizer: enforced by 1 of 1 proxy at generation 1; no authorizer in `foo` has the label `merlon.dev/http-route=public` of the HTTPRoute public",
      Ready:
        "False TargetNotFound: no authorizer in `foo` has the label `merlon.dev/http-route=public` of the HTTPRoute public",
    },
  ],
])("writes the conditions of a policy that names targets %s", (_, targets, workloads, expected) => {
  expect(resultOf(targets, workloads)).toEqual(expected)
})
