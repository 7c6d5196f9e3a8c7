// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { encodeProxyResource, type ProxyResource } from "@merlon/xds"
import type { Bootstrap } from "@merlon/xds/member"
import type { VersionedResource } from "@merlon/xds/server"
import { describe, expect, it } from "vitest"
import { HeldResources } from "./held-resources.js"

const bootstrap: Bootstrap = {
  names: meshNames(),
  controlPlane: { address: "127.0.0.1:15012", serverName: "merlond.merlon-system.svc" },
  workload: { namespace: "foo", name: "httpbin-1", serviceAccount: "httpbin" },
  trustBundle: "/root.pem",
  token: "/token",
  address: undefined,
  listen: "127.1.0.1",
  application: "127.0.0.1",
  state: undefined,
}

const resource = (name: string, content: ProxyResource, version = "1"): VersionedResource => ({
  name,
  version,
  value: encodeProxyResource(content),
})

const workload = (changes: object = {}): VersionedResource =>
  resource("workload", {
    kind: "workload",
    workload: {
      mesh: {
        mesh: "merlon",
        domain: "merlon.dev",
        trustDomain: "cluster.local",
        trustDomainAliases: [],
        pathNormalization: "BASE",
        numTrustedProxies: 0,
        providers: [],
      },
      namespace: "foo",
      name: "httpbin-1",
      serviceAccount: "httpbin",
      labels: { app: "httpbin" },
      services: ["httpbin"],
      ports: [
        {
          port: 8080,
          listen: 15_080,
          protocol: "http",
          upstreamProtocol: "http/1.1",
          serviceNames: ["httpbin"],
          upgrades: ["spdy"],
        },
      ],
      probes: {},
      ...changes,
    },
  })

const trust = resource("trust", {
  kind: "trust",
  trust: { bundle: "roots", signer: "ab", revokedIdentities: ["spiffe://cluster.local/ns/a/sa/b"], revokedSerials: [] },
})

const policy = (name: string, spec: object = {}): VersionedResource =>
  resource(`policy/AuthorizationPolicy/foo/${name}`, {
    kind: "policy",
    document: {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name, namespace: "foo" },
      spec,
    },
  })

const keys = resource("keys/x", { kind: "keySet", keySet: { id: "x", jwks: '{"keys":[]}' } })
const credentials = { certificateChain: "chain", privateKey: "key" }

const held = (...resources: readonly VersionedResource[]): HeldResources =>
  HeldResources.none.with({ revision: 7, resources, removed: [] })

describe("resources from the control plane", () => {
  it("become one configuration", () => {
    expect(held(workload(), trust, policy("a"), keys).configuration(credentials, bootstrap)).toMatchObject({
      revision: 7,
      workload: {
        namespace: "foo",
        name: "httpbin-1",
        serviceAccount: "httpbin",
        labels: { app: "httpbin" },
        services: ["httpbin"],
      },
      ports: [
        {
          port: 8080,
          listen: { host: "127.1.0.1", port: 15_080 },
          upstream: { host: "127.0.0.1", port: 8080 },
          upgrades: ["spdy"],
        },
      ],
      policies: [{ metadata: { name: "a" } }],
      keySets: { x: '{"keys":[]}' },
      tls: { certificateChain: "chain", privateKey: "key", trustBundle: "roots" },
      revocations: { identities: ["spiffe://cluster.local/ns/a/sa/b"], serials: [] },
    })
  })

  it("are changed by an update, without changing the previous value", () => {
    const before = held(workload(), trust, policy("a"), policy("b"))
    const after = before.with({ revision: 8, resources: [policy("c")], removed: ["policy/AuthorizationPolicy/foo/a"] })
    const names = (value: HeldResources): readonly string[] =>
      value.configuration(credentials, bootstrap).policies.map(({ metadata }) => metadata.name)
    expect(names(after)).toEqual(["b", "c"])
    expect(names(before)).toEqual(["a", "b"])
    expect([...after.versions.keys()]).not.toContain("policy/AuthorizationPolicy/foo/a")
  })

  it.each([
    [
      "for another workload",
      held(workload({ name: "other" }), trust),
      /configuration of foo\/other, not of foo\/httpbin-1/,
    ],
    ["without a workload", held(trust), /no workload/],
    ["without trust", held(workload()), /no trust/],
    ["with a policy that cannot be read", held(workload(), trust, policy("a", { action: "MAYBE" })), /cannot be read/],
  ])("are rejected %s", (_, value, message) => {
    expect(() => value.configuration(credentials, bootstrap)).toThrow(message)
  })

  it("are rejected if one is not a message of ours", () => {
    const garbage = { name: "policy/x", version: "1", value: Buffer.from("garbage") }
    expect(() => held(garbage)).toThrow(/`policy\/x` cannot be read/)
  })
})
