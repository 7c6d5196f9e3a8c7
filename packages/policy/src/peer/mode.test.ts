// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { meshConfig } from "../mesh/config.js"
import type { PeerAuthentication } from "../resources/document.js"
import type { PeerAuthenticationSpec } from "../resources/peer-authentication/definition.js"
import { PeerModes } from "./mode.js"

const mesh = meshConfig()
const workload = { namespace: "foo", name: "httpbin-1", labels: { app: "httpbin" } }
const ROOT = "merlon-system"
const selector = { matchLabels: { app: "httpbin" } }
const strict = { mtls: { mode: "STRICT" } } as const
const disable = { mtls: { mode: "DISABLE" } } as const
const unset = { mtls: { mode: "UNSET" } } as const

let second = 0
function peer(namespace: string, name: string, spec: PeerAuthenticationSpec, age = second++): PeerAuthentication {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, age)).toISOString()
  return {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "PeerAuthentication",
    metadata: { namespace, name, creationTimestamp },
    spec,
  }
}

const resolve = (policies: PeerAuthentication[], port = 8080, at = workload) =>
  new PeerModes(policies, at, mesh).resolve(port)

describe("the effective mode", () => {
  test.each<[string, PeerAuthentication[], string]>([
    ["is PERMISSIVE without policies", [], "PERMISSIVE"],
    ["follows the mesh", [peer(ROOT, "m", strict)], "STRICT"],
    ["is PERMISSIVE where the mesh leaves it open", [peer(ROOT, "m", unset)], "PERMISSIVE"],
    ["is PERMISSIVE where a policy says nothing", [peer("foo", "n", {})], "PERMISSIVE"],
    ["follows the namespace before the mesh", [peer(ROOT, "m", strict), peer("foo", "n", disable)], "DISABLE"],
    ["asks the mesh where the namespace leaves it open", [peer(ROOT, "m", strict), peer("foo", "n", unset)], "STRICT"],
    [
      "follows the workload before all",
      [peer(ROOT, "m", strict), peer("foo", "n", strict), peer("foo", "w", { selector, ...disable })],
      "DISABLE",
    ],
    ["ignores other namespaces", [peer("bar", "n", strict)], "PERMISSIVE"],
    ["ignores other labels", [peer("foo", "w", { selector: { matchLabels: { app: "x" } }, ...strict })], "PERMISSIVE"],
    ["ignores a selector in the root namespace", [peer(ROOT, "m", { selector, ...strict })], "PERMISSIVE"],
    ["takes an empty selector for none", [peer(ROOT, "m", { selector: { matchLabels: {} }, ...strict })], "STRICT"],
    [
      "takes modes by port from a workload policy only",
      [peer("foo", "n", { ...disable, portLevelMtls: { "8080": { mode: "STRICT" } } })],
      "DISABLE",
    ],
    ["follows the oldest of a scope", [peer("foo", "young", disable, 9), peer("foo", "old", strict, 5)], "STRICT"],
    ["breaks a tie of age by name", [peer("foo", "b", disable, 7), peer("foo", "a", strict, 7)], "STRICT"],
  ])("%s", (_, policies, mode) => {
    expect(resolve(policies).mode).toBe(mode)
  })

  describe("of a policy that names a Service", () => {
    const targetRefs = [{ kind: "Service", name: "httpbin" }]
    const behind = { ...workload, services: ["httpbin"] }
    const named = peer("foo", "named", { targetRefs, ...disable, portLevelMtls: { "9090": { mode: "STRICT" } } }, 3)

    it("counts as the workload's, with modes by port, for those behind it and no others", () => {
      const policies = [peer(ROOT, "m", strict), peer("foo", "n", strict), named]
      expect([8080, 9090].map(port => resolve(policies, port, behind).mode)).toEqual(["DISABLE", "STRICT"])
      expect(resolve(policies).mode).toBe("STRICT")
    })

    it("is ignored if an older policy selects the same workload by labels", () => {
      const { mode, losers } = resolve([peer("foo", "old", { selector, ...strict }, 1), named], 8080, behind)
      expect([mode, losers.map(({ policy, supersededBy }) => [policy.name, supersededBy?.name])]).toEqual([
        "STRICT",
        [["named", "old"]],
      ])
    })

    it("applies only in its namespace, also in the root namespace", () => {
      expect(resolve([peer(ROOT, "m", { targetRefs, ...strict })], 8080, behind).mode).toBe("PERMISSIVE")
    })
  })

  it("ignores a selector for workloads of the root namespace too", () => {
    const inRoot = { ...workload, namespace: ROOT }
    expect(resolve([peer(ROOT, "m", { selector, ...strict })], 8080, inRoot).mode).toBe("PERMISSIVE")
  })

  it("does not match an inherited property as a label", () => {
    const odd = { selector: { matchLabels: { constructor: "x" } }, ...strict }
    expect(resolve([peer("foo", "w", odd)]).mode).toBe("PERMISSIVE")
  })
})

describe("a mode per port", () => {
  const ports = {
    selector,
    mtls: { mode: "STRICT" },
    portLevelMtls: { "9090": { mode: "DISABLE" }, "9091": {} },
  } as const

  test.each([
    [9090, "DISABLE"],
    [9091, "STRICT"],
    [8080, "STRICT"],
  ])("of port %d is %s", (port, mode) => {
    expect(resolve([peer("foo", "w", ports)], port).mode).toBe(mode)
  })

  it("inherits the wider scope if the workload policy leaves it open", () => {
    const open = { selector, portLevelMtls: { "9090": { mode: "UNSET" } } } as const
    expect(resolve([peer("foo", "n", strict), peer("foo", "w", open)], 9090).mode).toBe("STRICT")
  })

  it("is not merged from a younger policy", () => {
    const older = peer("foo", "a", { selector, ...strict }, 1)
    const younger = peer("foo", "b", { selector, portLevelMtls: { "9090": { mode: "DISABLE" } } }, 2)
    expect(resolve([younger, older], 9090).mode).toBe("STRICT")
  })
})

describe("the reason", () => {
  it("names the winner, the candidates and which policy superseded which", () => {
    const resolution = resolve([
      peer(ROOT, "mesh", strict, 1),
      peer("foo", "young", disable, 3),
      peer("foo", "old", unset, 2),
      peer(ROOT, "picky", { selector, ...disable }, 1),
    ])
    expect(resolution.winner).toEqual({
      scope: "mesh",
      policy: { namespace: ROOT, name: "mesh" },
      mode: "STRICT",
      port: false,
    })
    expect(resolution.asked.map(({ scope, mode }) => [scope, mode])).toEqual([
      ["mesh", "STRICT"],
      ["namespace", "UNSET"],
    ])
    expect(resolution.losers.map(({ policy, supersededBy }) => [policy.name, supersededBy?.name])).toEqual([
      ["picky", undefined],
      ["young", "old"],
    ])
  })

  it("has no winner if the default applies", () => {
    expect(resolve([]).winner).toBeUndefined()
  })
})

it("a Shadow policy never changes the mode and says what it would be", () => {
  const shadow = peer("foo", "n", { ...strict, enforcement: "Shadow" })
  expect(resolve([shadow])).toMatchObject({ mode: "PERMISSIVE", shadow: "STRICT" })
  expect(resolve([peer("foo", "n", strict)]).shadow).toBeUndefined()
})
