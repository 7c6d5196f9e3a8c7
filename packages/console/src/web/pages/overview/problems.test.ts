// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import type { Answer, ObservedCall, Readiness } from "../../api/answers.js"
import type { Condition, Pod, Policy } from "../../api/objects.js"
import { deniedProblems, plaintextProblems, podProblems, policyProblems, proxyProblems, sorted } from "./problems.js"

const condition = (type: string, status: Condition["status"], reason = type): Condition => ({
  ...{ type, status, reason, message: `${type} is ${status}` },
})
const policy = (...conditions: readonly Condition[]): Policy => ({
  ...{ kind: "AuthorizationPolicy", metadata: { name: "a", namespace: "foo" }, status: { conditions } },
})

test.each([
  ["all is well", policy(condition("Accepted", "True"), condition("Superseded", "False")), []],
  ["it has no status yet", { metadata: { name: "a" } }, []],
  ["it is superseded", policy(condition("Superseded", "True")), [["warn", "Superseded"]]],
  ["ports are not judged", policy(condition("UnjudgedPorts", "True")), [["warn", "UnjudgedPorts"]]],
  ["ports are judged", policy(condition("UnjudgedPorts", "False")), []],
  [
    "ports are not judged and another condition is bad",
    policy(condition("UnjudgedPorts", "True"), condition("Ready", "False", "Bypassable")),
    [["bad", "Bypassable"]],
  ],
  ["a condition is Unknown", policy(condition("Enforced", "Unknown", "Waiting")), [["warn", "Waiting"]]],
  [
    "`Ready` repeats another condition",
    policy(condition("Ready", "False"), condition("Accepted", "False", "Invalid")),
    [["bad", "Invalid"]],
  ],
])("reports the problems of a policy where %s", (_, one, expected) => {
  expect(policyProblems([one]).map(({ severity, badge }) => [severity, badge])).toEqual(expected)
})

test.each<readonly [string, Pod["status"], number]>([
  ["is ready", { conditions: [condition("Ready", "True")] }, 0],
  ["has succeeded", { phase: "Succeeded", conditions: [condition("Ready", "False")] }, 0],
  ["has no conditions", {}, 0],
  ["is not ready", { conditions: [condition("Ready", "False", "ProxyGone")] }, 1],
])("reports the problems of a workload that %s", (_, status, expected) => {
  expect(podProblems([{ metadata: { name: "a" }, ...(status && { status }) }])).toHaveLength(expected)
})

it("sorts errors before warnings", () => {
  const report = { workload: "a/b", connectedAt: "", resources: 1, behind: 0, lagMs: 0, rejection: "no" }
  const problems = [
    ...policyProblems([policy(condition("Superseded", "True"))]),
    ...proxyProblems([{ metadata: { name: "b", namespace: "a" }, spec: report }]),
  ]
  expect(sorted(problems).map(({ severity }) => severity)).toEqual(["bad", "warn"])
})

const denied = (fields: Partial<ObservedCall>): ObservedCall => ({
  ...{ workload: "shop/payment", port: 80, protocol: "http", method: "POST", path: "/charge", tls: true },
  ...{ caller: "spiffe://td/ns/shop/sa/cart", verdict: "deny", stage: "allow" },
  ...{ firstSeen: "2026-01-01", lastSeen: "2026-01-01", count: 1, ...fields },
})

const SERVICES = { ofWorkload: (workload: string) => workload.replace(/-\d$/, "") }

it("groups denied calls by caller, called service and cause", () => {
  const problems = deniedProblems(
    [
      denied({ workload: "shop/payment-1", count: 4 }),
      denied({ workload: "shop/payment-2", path: "/refund", count: 5, lastSeen: "2026-01-02" }),
      denied({ caller: "spiffe://td/ns/shop/sa/web", count: 2 }),
      denied({ verdict: "allow", count: 100 }),
    ],
    SERVICES,
  )
  expect(problems.map(({ title, badge }) => [title, badge])).toEqual([
    ["shop/cart is denied by shop/payment", "9 requests"],
    ["shop/web is denied by shop/payment", "2 requests"],
  ])
  expect(problems[0]?.denied?.path).toBe("/refund")
  expect(problems[0]?.message).toBe("No ALLOW rule matched: `POST /charge`, `POST /refund`")
})

it("sorts a broken invariant first, then denied calls by count, and plaintext last", () => {
  const waiting = { spec: { state: "waiting", plaintext: [{ from: "a/b", address: "", count: 1 }] } }
  const problems = sorted([
    ...plaintextProblems([waiting as unknown as Answer<Readiness>]), // has the fields that the function reads
    ...policyProblems([policy(condition("Accepted", "False", "NoWorkloads"))]),
    ...deniedProblems([denied({ count: 3 }), denied({ caller: "spiffe://td/ns/shop/sa/web", count: 8 })], SERVICES),
    ...policyProblems([{ ...policy(condition("Holds", "False", "Broken")), kind: "PolicyInvariant" }]),
  ])
  expect(problems.map(({ badge }) => badge)).toEqual(["Broken", "8 requests", "3 requests", "NoWorkloads", "1 caller"])
})

it("warns of a certificate that is not renewed", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  const proxy = (certificateNotAfter: string) => ({
    metadata: { name: "b", namespace: "a" },
    spec: { workload: "a/b", connectedAt: "", resources: 1, behind: 0, lagMs: 0, certificateNotAfter },
  })
  expect(proxyProblems([proxy("2026-01-01T00:30:00Z")], now)).toHaveLength(1)
  expect(proxyProblems([proxy("2026-01-01T12:00:00Z")], now)).toEqual([])
})
