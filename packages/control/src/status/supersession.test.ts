// SPDX-License-Identifier: Apache-2.0
import type { PeerAuthentication } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { supersessionOf } from "./supersession.js"
import { document, mesh, workload } from "./testing/documents.js"

const peer = (name: string, spec: object, day: number, namespace = "foo"): PeerAuthentication =>
  document(
    "PeerAuthentication",
    name,
    spec,
    { creationTimestamp: `2026-01-0${day}T00:00:00Z` },
    namespace,
  ) as PeerAuthentication
const app = (value: string) => ({ selector: { matchLabels: { app: value } } })
const workloads = [workload("foo/a", { app: "a", tier: "gold" }), workload("foo/b", { app: "a", tier: "tin" })]
const [old, young] = [peer("old", {}, 1), peer("young", {}, 2)]

it("finds the older policy of the namespace", () => {
  expect(supersessionOf(young, [young, old], workloads, mesh)).toMatchObject({
    overridden: { supersededBy: { namespace: "foo", name: "old" } },
    workloads: 2,
  })
  expect(supersessionOf(old, [young, old], workloads, mesh)).toBeUndefined()
})

it("finds it even if no workload is selected yet", () => {
  expect(supersessionOf(young, [young, old], [], mesh)?.workloads).toBe(0)
  const [first, second] = [peer("first", app("a"), 1), peer("second", app("a"), 2)]
  expect(supersessionOf(second, [first, second], [], mesh)?.overridden.supersededBy?.name).toBe("first")
})

it("counts the workloads that an older policy selects", () => {
  const gold = peer("gold", { selector: { matchLabels: { tier: "gold" } } }, 1)
  const all = peer("all", app("a"), 2)
  expect(supersessionOf(all, [gold, all], workloads, mesh)).toMatchObject({
    overridden: { supersededBy: { name: "gold" } },
    workloads: 1,
  })
})

it("does not compare policies of different scopes", () => {
  const narrow = peer("narrow", app("a"), 2)
  expect(supersessionOf(narrow, [old, narrow], workloads, mesh)).toBeUndefined()
})

it("reports selectors that are ignored in the root namespace", () => {
  const root = peer("root", app("a"), 1, "merlon-system")
  expect(supersessionOf(root, [root], [], mesh)?.overridden.supersededBy).toBeUndefined()
  expect(supersessionOf(root, [root], [], mesh)?.overridden.reason).toContain("ignored")
})
