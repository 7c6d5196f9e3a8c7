// SPDX-License-Identifier: Apache-2.0
import type { Status, StatusCondition } from "@merlon/policy/resources"
import { expect, test } from "vitest"
import { eventsBetween } from "./transitions.js"

const one = (type: string, status: StatusCondition["status"], reason: string): Status => ({
  conditions: [{ type, status, reason, message: "why", lastTransitionTime: "" }],
})

test.each<[string, Status | undefined, Status, string[]]>([
  [
    "a policy that becomes invalid",
    one("Accepted", "True", "Valid"),
    one("Accepted", "False", "Invalid"),
    ["InvalidStored"],
  ],
  ["a policy that stays invalid", one("Accepted", "False", "Invalid"), one("Accepted", "False", "Invalid"), []],
  ["a policy that is superseded", undefined, one("Superseded", "True", "Superseded"), ["Superseded"]],
  ["a rejection", one("Enforced", "False", "Waiting"), one("Enforced", "False", "Rejected"), ["ProxyRejected"]],
  ["keys that fail", one("JwksReady", "True", "Ready"), one("JwksReady", "True", "Stale"), ["JwksFetchFailed"]],
  ["keys that never arrived", undefined, one("JwksReady", "False", "NoKeys"), ["JwksFetchFailed"]],
  ["keys that still fail", one("JwksReady", "True", "Stale"), one("JwksReady", "True", "Stale"), []],
  ["keys that recovered", one("JwksReady", "False", "NoKeys"), one("JwksReady", "True", "Ready"), ["JwksRecovered"]],
  ["keys that arrived", one("JwksReady", "Unknown", "Fetching"), one("JwksReady", "True", "Ready"), []],
  ["progress", one("Enforced", "False", "Waiting"), one("Enforced", "True", "AllProxies"), []],
])("writes Events for %s", (_, before, after, expected) => {
  expect(eventsBetween(before, after).map(({ reason }) => reason)).toEqual(expected)
})
