// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import type { ConditionInputs } from "./condition-inputs.js"
import { statusOf } from "./conditions.js"
import { document, mesh } from "./testing/documents.js"

const now = Date.UTC(2026, 5, 1, 12)
const NONE = {
  proxies: 0,
  enforcing: 0,
  authorizers: { all: 0, enforcing: 0 },
  waiting: [],
  disconnected: [],
  rejected: [],
  rejection: undefined,
}
const reach = (workloads: number, more: Partial<ConditionInputs["reach"]> = {}) => ({
  workloads,
  unproxied: [],
  outside: [],
  bypassable: [],
  udp: [],
  pending: 0,
  nearest: undefined,
  missing: [],
  targets: { absent: [], blind: [], empty: [], unserved: [] },
  ...more,
})

function inputs(of: ConditionInputs["document"], more: Partial<ConditionInputs> = {}): ConditionInputs {
  return {
    document: of,
    kind: of?.kind ?? "AuthorizationPolicy",
    namespace: "foo",
    generation: 7,
    errors: [],
    mesh,
    reach: reach(3),
    enforcement: { ...NONE, proxies: 3, enforcing: 3 },
    clients: undefined,
    governedByOthers: [],
    guestHosts: [],
    keySets: [],
    inlineKeySets: 0,
    superseded: undefined,
    now,
    previous: undefined,
    ...more,
  }
}

function resultOf(type: string, of: ConditionInputs): string {
  const condition = statusOf(of).conditions?.find(candidate => candidate.type === type)
  return condition === undefined ? "nothing" : `${condition.status} ${condition.reason}: ${condition.message}`
}

const allow = document("AuthorizationPolicy", "p", { rules: [{}] })
const selecting = document("AuthorizationPolicy", "p", { selector: { matchLabels: { app: "httpbin" } }, rules: [{}] })
const shadow = document("AuthorizationPolicy", "p", { enforcement: "Shadow", rules: [{}] })
const tokens = document("RequestAuthentication", "p", {
  jwtRules: [{ issuer: "https://idp", jwksUri: "https://idp/k" }],
})
const peers = document("PeerAuthentication", "p", { mtls: { mode: "STRICT" } })
const rootPeers = document("PeerAuthentication", "p", { selector: { matchLabels: { app: "a" } } }, {}, "merlon-system")
const routes = document("MeshService", "p", { hosts: ["web"] })

describe("Accepted", () => {
  test.each<[string, ConditionInputs, string]>([
    ["a policy", inputs(allow), "True Valid: allows every request, on 3 workloads in `foo`"],
    ["one workload", inputs(allow, { reach: reach(1) }), "True Valid: allows every request, on 1 workload in `foo`"],
    [
      "a shadow policy",
      inputs(shadow),
      "True Valid: observes without enforcing: allows every request, on 3 workloads in `foo`",
    ],
    [
      "an invalid one",
      inputs(undefined, { errors: ["unknown field `a`", "unknown field `b`"] }),
      "False Invalid: not valid: unknown field `a` and unknown field `b`",
    ],
  ])("of %s", (_, of, expected) => {
    expect(resultOf("Accepted", of)).toBe(expected)
  })
})

describe("MatchesWorkloads", () => {
  test.each<[string, ConditionInputs, string]>([
    ["some", inputs(allow), "True Selected: selects 3 workloads"],
    [
      "some without an xserver",
      inputs(allow, { reach: reach(3, { unproxied: ["foo/a", "foo/b"] }) }),
      "True Selected: selects 3 workloads; 2 without an xserver, so not enforced there: foo/a and foo/b",
    ],
    [
      "some that are not in the mesh",
      inputs(allow, { reach: reach(3, { outside: ["kube-system/dns"] }) }),
      "True Selected: selects 3 workloads; 1 not in the mesh, so not enforced there: kube-system/dns",
    ],
    ["none in the namespace", inputs(allow, { reach: reach(0) }), "False NoWorkloads: no workload found in `foo`"],
    [
      "none by its labels",
      inputs(selecting, { reach: reach(0, { nearest: "`app=httpbn` (`foo/a`)" }) }),
      "False NoWorkloads: no workload in `foo` has `app=httpbin`; the closest match has `app=httpbn` (`foo/a`)",
    ],
    [
      "none, because root selectors are ignored",
      inputs(rootPeers, { reach: reach(0) }),
      "False IgnoredSelector: a selector in the root namespace is ignored; move the policy into the workload's namespace",
    ],
    [
      "none behind a host",
      inputs(routes, { reach: reach(0, { missing: ["`web`"] }) }),
      "False NoWorkloads: no workload is behind `web`",
    ],
    ["none, being invalid", inputs(undefined), "Unknown Invalid: an invalid document selects nothing"],
  ])("of %s", (_, of, expected) => {
    expect(resultOf("MatchesWorkloads", of)).toBe(expected)
  })
})

describe("Enforced", () => {
  const count = (more: Partial<ConditionInputs["enforcement"]>) => ({ enforcement: { ...NONE, proxies: 12, ...more } })
  const many = ["foo/a", "foo/b", "foo/c", "foo/d", "foo/e", "foo/f", "foo/g", "foo/h", "foo/i"]
  test.each<[string, ConditionInputs, string]>([
    ["all", inputs(allow, count({ enforcing: 12 })), "True AllProxies: enforced by 12 of 12 proxies at generation 7"],
    [
      "some",
      inputs(allow, count({ enforcing: 3, waiting: many })),
      "False Waiting: enforced by 3 of 12 proxies at generation 7; waiting for foo/a, foo/b and 7 more",
    ],
    [
      "some that are not connected",
      inputs(allow, count({ enforcing: 11, disconnected: ["foo/a"] })),
      "False NotConnected: enforced by 11 of 12 proxies at generation 7; not connected: foo/a",
    ],
    [
      "one that rejects",
      inputs(
        allow,
        count({
          enforcing: 9,
          rejected: ["foo/r", "foo/s"],
          rejection: { proxy: "foo/r", message: "no such\nfield" },
          waiting: ["foo/w"],
        }),
      ),
      "False Rejected: enforced by 9 of 12 proxies at generation 7; `foo/r` rejected it: no such field; so did foo/s; waiting for foo/w",
    ],
    [
      "no workload",
      inputs(allow, { reach: reach(0), enforcement: NONE }),
      "False NoWorkloads: not enforced: it selects no workload",
    ],
    [
      "no proxy",
      inputs(allow, { enforcement: NONE }),
      "False NoProxies: not enforced: no workload that it selects has an xserver",
    ],
    [
      "a shadow policy",
      inputs(shadow, count({ enforcing: 12 })),
      "True Shadow: in shadow mode (not enforced): evaluated by 12 of 12 proxies at generation 7",
    ],
    [
      "one whose issuer has not answered yet",
      inputs(tokens, { ...count({ enforcing: 12 }), keySets: [{ issuer: "I", state: undefined }] }),
      "False FetchingKeys: enforced by 12 of 12 proxies at generation 7; the keys of `I` are being fetched",
    ],
    [
      "an invalid document",
      inputs(undefined),
      "False Invalid: an invalid document is not sent to proxies; its last valid version stays enforced, or its strictest reading after a restart",
    ],
    [
      "routes without clients",
      inputs(routes),
      "True NoClients: no connected client uses its hosts; clients that do will get this version",
    ],
    [
      "routes",
      inputs(routes, { clients: { clients: 2, acknowledged: 2, waiting: [], rejection: undefined } }),
      "True AllClients: in use by 2 of 2 clients at generation 7",
    ],
    [
      "routes that are not acknowledged yet",
      inputs(routes, { clients: { clients: 2, acknowledged: 1, waiting: ["app/c"], rejection: undefined } }),
      "False Waiting: in use by 1 of 2 clients at generation 7; waiting for app/c",
    ],
    [
      "routes of a host that an older one governs",
      inputs(routes, { governedByOthers: [{ host: "web", by: "foo/old" }] }),
      "False Superseded: not in use: `foo/old` governs `web`",
    ],
    [
      "routes of another namespace's host",
      inputs(routes, { guestHosts: ["web.app"] }),
      "True NoClients: no connected client uses its hosts; clients that do will get this version; affects only callers in `foo`, because `web.app` is not in that namespace",
    ],
    [
      "routes that a client rejects",
      inputs(routes, {
        clients: { clients: 1, acknowledged: 0, waiting: [], rejection: { client: "app/c", message: "bad" } },
      }),
      "False Rejected: in use by 0 of 1 client at generation 7; `app/c` rejected it: bad",
    ],
  ])("of %s", (_, of, expected) => {
    expect(resultOf("Enforced", of)).toBe(expected)
  })
})

describe("JwksReady", () => {
  const at = (minutes: number) => Date.UTC(2026, 5, 1, 12, minutes)
  const state = (more: object) => ({
    id: "x",
    jwks: "{}",
    keys: 2,
    fetchedAt: at(0),
    nextFetchAt: at(20),
    error: undefined,
    ...more,
  })
  const missing = { jwks: undefined, keys: 0, fetchedAt: undefined }
  const issuer = (name: string, more: object) => ({ issuer: name, state: state(more) })
  test.each<[string, Partial<ConditionInputs>, string]>([
    [
      "with keys",
      { keySets: [issuer("I", {})] },
      "True Ready: `I`: 2 keys of 2026-06-01T12:00:00Z, next refresh 2026-06-01T12:20:00Z",
    ],
    [
      "with stale keys",
      { keySets: [issuer("I", { error: "answered 500" })] },
      "True Stale: `I`: 2 keys of 2026-06-01T12:00:00Z stay in force (answered 500; next try 2026-06-01T12:20:00Z)",
    ],
    [
      "without keys, the failing one first",
      { keySets: [issuer("I", { keys: 1 }), issuer("J", { ...missing, error: "timed out" })] },
      "False NoKeys: `J`: no keys, its tokens are denied (timed out; next try 2026-06-01T12:20:00Z) and `I`: 1 key of 2026-06-01T12:00:00Z, next refresh 2026-06-01T12:20:00Z",
    ],
    [
      "before the first answer",
      { keySets: [{ issuer: "I", state: undefined }] },
      "Unknown Fetching: `I`: being fetched",
    ],
    ["with inline keys", { inlineKeySets: 1 }, "True Inline: every rule contains its keys"],
    ["without rules", {}, "True Inline: no rule needs keys"],
  ])("%s", (_, more, expected) => {
    expect(resultOf("JwksReady", inputs(tokens, more))).toBe(expected)
  })

  it("exists only for RequestAuthentications", () => {
    expect([allow, peers, routes].map(of => resultOf("JwksReady", inputs(of)))).toEqual([
      "nothing",
      "nothing",
      "nothing",
    ])
  })
})

describe("Superseded", () => {
  const overridden = {
    policy: { namespace: "foo", name: "p" },
    supersededBy: { namespace: "foo", name: "old" },
    reason: "it is older",
  }
  test.each<[string, Partial<ConditionInputs>, string]>([
    ["in effect", {}, "False InForce: no older policy of its scope takes precedence"],
    [
      "everywhere",
      { superseded: { overridden: overridden, workloads: 3 } },
      "True Superseded: `foo/old` applies instead: it is older",
    ],
    [
      "on some",
      { superseded: { overridden: overridden, workloads: 1 } },
      "True PartlySuperseded: on 1 of 3 workloads `foo/old` applies instead: it is older",
    ],
    [
      "ignored",
      { superseded: { overridden: { ...overridden, supersededBy: undefined, reason: "ignored" }, workloads: 0 } },
      "True IgnoredSelector: ignored",
    ],
  ])("%s", (_, more, expected) => {
    expect(resultOf("Superseded", inputs(peers, more))).toBe(expected)
  })

  it("exists only for PeerAuthentications", () => {
    expect(resultOf("Superseded", inputs(allow))).toBe("nothing")
  })
})

describe("Ready", () => {
  const unknown = { id: "", jwks: undefined, keys: 0, fetchedAt: undefined, nextFetchAt: undefined, error: undefined }
  const keys = (state: object) => [{ issuer: "https://idp", state: { ...unknown, ...state } }]
  const bypassable = [{ workload: "foo/a", because: "undeclared ports are reachable without policy checks" }]
  const waiting = { ...NONE, proxies: 3, enforcing: 2, waiting: ["foo/a"] }
  test.each<[string, ConditionInputs, string]>([
    ["a policy in effect", inputs(allow), "True Ready: enforced by 3 of 3 proxies at generation 7"],
    [
      "routes in use",
      inputs(routes),
      "True Ready: no connected client uses its hosts; clients that do will get this version",
    ],
    ["an invalid policy", inputs(undefined, { errors: ["a"] }), "False Invalid: not valid: a"],
    [
      "a selector without workloads",
      inputs(selecting, { reach: reach(0) }),
      "False NoWorkloads: no workload in `foo` has `app=httpbin`",
    ],
    [
      "keys that cannot be fetched, although every proxy enforces the policy",
      inputs(tokens, { keySets: keys({ error: "rejected" }) }),
      "False NoKeys: no keys of `https://idp` (rejected)",
    ],
    [
      "keys that are being fetched",
      inputs(tokens, { keySets: keys({}) }),
      "False FetchingKeys: no keys of `https://idp` (being fetched); enforced by 3 of 3 proxies at generation 7; the keys of `https://idp` are being fetched",
    ],
    [
      "stale keys",
      inputs(tokens, { keySets: keys({ jwks: "{}", error: "rejected" }) }),
      "True Ready: enforced by 3 of 3 proxies at generation 7",
    ],
    [
      "a workload without a proxy, although all proxies enforce it",
      inputs(allow, { reach: reach(4, { unproxied: ["foo/d"] }) }),
      "False NoProxy: no xserver in front of foo/d",
    ],
    [
      "a workload that is not in the mesh, which does not count",
      inputs(allow, { reach: reach(4, { outside: ["kube-system/dns"] }) }),
      "True Ready: enforced by 3 of 3 proxies at generation 7",
    ],
    [
      "a proxy that can be bypassed",
      inputs(allow, { reach: reach(3, { bypassable }) }),
      "False Bypassable: xserver can be bypassed at foo/a (undeclared ports are reachable without policy checks)",
    ],
    [
      "several problems, each named",
      inputs(allow, { reach: reach(4, { unproxied: ["foo/d"] }), enforcement: waiting }),
      "False NoProxy: no xserver in front of foo/d; enforced by 2 of 3 proxies at generation 7; waiting for foo/a",
    ],
    [
      "a Pod that has not started, which does not count",
      inputs(allow, { reach: reach(4, { pending: 1 }) }),
      "True Ready: enforced by 3 of 3 proxies at generation 7",
    ],
    [
      "Pods that have not started",
      inputs(allow, { reach: reach(2, { pending: 2 }), enforcement: NONE }),
      "False NotStarted: not enforced: no workload that it selects has started",
    ],
  ])("of %s", (_, of, expected) => {
    expect(resultOf("Ready", of)).toBe(expected)
  })
})

describe("a condition", () => {
  const before = statusOf(inputs(allow))
  const later = { now: now + 3_600_000, previous: before }

  it("keeps its transition time while its status stays, and updates it when that changes", () => {
    const waiting = { ...NONE, proxies: 3, enforcing: 2, waiting: ["foo/a"] }
    const times = (of: ConditionInputs) =>
      statusOf(of).conditions?.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])
    expect(times(inputs(allow, { ...later, generation: 8 }))).toEqual([
      ["Accepted", "2026-06-01T12:00:00Z"],
      ["MatchesWorkloads", "2026-06-01T12:00:00Z"],
      ["Enforced", "2026-06-01T12:00:00Z"],
      ["Ready", "2026-06-01T12:00:00Z"],
    ])
    expect(times(inputs(allow, { ...later, enforcement: waiting }))?.slice(-2)).toEqual([
      ["Enforced", "2026-06-01T13:00:00Z"],
      ["Ready", "2026-06-01T13:00:00Z"],
    ])
  })

  it("does not change while nothing happens", () => {
    expect(statusOf(inputs(allow, later))).toEqual(before)
  })

  it("names its generation", () => {
    expect(before.observedGeneration).toBe(7)
    expect(before.conditions?.every(({ observedGeneration }) => observedGeneration === 7)).toBe(true)
  })

  it("of another writer is kept", () => {
    const foreign = { type: "Reviewed", status: "True", reason: "Ok", message: "", lastTransitionTime: "x" } as const
    const previous = { conditions: [...(before.conditions ?? []), foreign] }
    expect(statusOf(inputs(allow, { previous })).conditions?.at(-1)).toEqual(foreign)
  })
})

test("Ready does not depend on UDP ports, which have their own condition", () => {
  const udp = [{ key: "foo/dns", udpPorts: [53], udp: "passed" }] as const
  const of = inputs(peers, { reach: reach(3, { udp }) })
  expect(resultOf("Ready", of)).toBe(resultOf("Ready", inputs(peers)))
  expect(resultOf("UnjudgedPorts", of)).toContain(
    "True UdpNotJudged: no policy judges UDP: every client can reach foo/dns (53)",
  )
  // A condition of ours that no longer applies is removed.
  expect(resultOf("UnjudgedPorts", inputs(peers, { previous: statusOf(of) }))).toBe("nothing")
})
