// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import type { Condition, Pod, Policy } from "../../api/objects.js"
import { podProblems, policyProblems, proxyProblems, sorted } from "./problems.js"

const condition = (type: string, status: Condition["status"], reason = type): Condition => ({
  ...{ type, status, reason, message: `${type} is ${status}` },
})
const policy = (...conditions: readonly Condition[]): Policy => ({
  ...{ kind: "AuthorizationPolicy", metadata: { name: "a", namespace: "foo" }, status: { conditions } },
})

test.each([
  ["all is well", policy(condition("Accepted", "True"), condition("Superseded", "False")), []],
  ["nobody has looked yet", { metadata: { name: "a" } }, []],
  ["it is superseded", policy(condition("Superseded", "True")), [["warn", "Superseded"]]],
  ["ports are not judged", policy(condition("UnjudgedPorts", "True")), [["warn", "UnjudgedPorts"]]],
  ["ports are judged", policy(condition("UnjudgedPorts", "False")), []],
  [
    "ports are not judged and something is wrong besides",
    policy(condition("UnjudgedPorts", "True"), condition("Ready", "False", "Bypassable")),
    [["bad", "Bypassable"]],
  ],
  ["it is not known", policy(condition("Enforced", "Unknown", "Waiting")), [["warn", "Waiting"]]],
  [
    "`Ready` says again what another says",
    policy(condition("Ready", "False"), condition("Accepted", "False", "Invalid")),
    [["bad", "Invalid"]],
  ],
])("tells of a policy where %s", (_, one, expected) => {
  expect(policyProblems([one]).map(({ severity, reason }) => [severity, reason])).toEqual(expected)
})

test.each<readonly [string, Pod["status"], number]>([
  ["is ready", { conditions: [condition("Ready", "True")] }, 0],
  ["is done", { phase: "Succeeded", conditions: [condition("Ready", "False")] }, 0],
  ["nobody says anything about", {}, 0],
  ["is not ready", { conditions: [condition("Ready", "False", "ProxyGone")] }, 1],
])("tells of a workload that %s", (_, status, expected) => {
  expect(podProblems([{ metadata: { name: "a" }, ...(status && { status }) }])).toHaveLength(expected)
})

it("puts what hurts before what may", () => {
  const report = { workload: "a/b", connectedAt: "", resources: 1, behind: 0, lagMs: 0, rejection: "no" }
  const problems = [
    ...policyProblems([policy(condition("Superseded", "True"))]),
    ...proxyProblems([{ metadata: { name: "b", namespace: "a" }, spec: report }]),
  ]
  expect(sorted(problems).map(({ severity }) => severity)).toEqual(["bad", "warn"])
})
