// SPDX-License-Identifier: Apache-2.0
//
// Which requests a webhook sees. It cannot reject a request that it does not see, so every part of a match is tested
// separately.

import { describe, expect, it } from "vitest"
import type { JsonObject } from "../value.js"
import { matchesConditions, matchesRules, matchesSelectors } from "./match.js"
import { type Asked, call } from "./testing/call.js"

const rule = (more: JsonObject = {}): JsonObject => ({
  ...{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] },
  ...more,
})
const labelled = (labels: JsonObject): JsonObject => ({ metadata: { labels } })

describe("rules", () => {
  it.each<[string, JsonObject[], Asked, boolean]>([
    ["match what they name", [rule()], {}, true],
    ["match no other operation", [rule()], { operation: "DELETE" }, false],
    ["match every operation by a star", [rule({ operations: ["*"] })], { operation: "DELETE" }, true],
    ["match no other resource", [rule()], { plural: "services" }, false],
    ["match no other group", [rule({ apiGroups: ["apps"] })], {}, false],
    [
      "match every group by a star",
      [rule({ apiGroups: ["*"], resources: ["*"] })],
      { plural: "deployments", group: "apps" },
      true,
    ],
    ["match no other version", [rule({ apiVersions: ["v2"] })], {}, false],
    ["match no subresource by its resource", [rule()], { subresource: "status" }, false],
    ["match a subresource by its name", [rule({ resources: ["pods/status"] })], { subresource: "status" }, true],
    ["match no resource by a subresource", [rule({ resources: ["pods/status"] })], {}, false],
    ["match the resources alone by a star", [rule({ resources: ["*"] })], { subresource: "status" }, false],
    ["match subresources of one by a star", [rule({ resources: ["pods/*"] })], { subresource: "status" }, true],
    ["match everything by two stars", [rule({ resources: ["*/*"] })], { subresource: "status" }, true],
    ["of cluster scope match nothing in namespaces", [rule({ scope: "Cluster" })], {}, false],
    [
      "of namespaced scope match nothing outside",
      [rule({ scope: "Namespaced", resources: ["nodes"] })],
      { plural: "nodes" },
      false,
    ],
    ["match when any of them does", [rule({ resources: ["services"] }), rule()], {}, true],
    ["match nothing when there are none", [], {}, false],
  ])("%s", (_, rules, asked, want) => expect(matchesRules(rules, call(asked))).toBe(want))
})

describe("selectors", () => {
  const on = { namespaceSelector: { matchLabels: { mesh: "on" } } }
  const app = { objectSelector: { matchLabels: { app: "a" } } }
  it.each<[string, JsonObject, Asked, boolean]>([
    ["that are empty match", { namespaceSelector: {}, objectSelector: {} }, {}, true],
    ["of namespaces match by the namespace's labels", on, { namespaceLabels: { mesh: "on" } }, true],
    ["of namespaces match no other", on, { namespaceLabels: { mesh: "off" } }, false],
    ["of namespaces say nothing of what lies in none", on, { plural: "nodes" }, true],
    ["of namespaces judge a namespace by its own labels", on, { plural: "namespaces", namespaceLabels: {} }, false],
    ["of objects match by their labels", app, { object: labelled({ app: "a" }) }, true],
    ["of objects match no other", app, { object: labelled({ app: "b" }) }, false],
    [
      "of objects match what was and is no longer, or a label taken away would hide the change",
      app,
      { object: labelled({}), old: labelled({ app: "a" }) },
      true,
    ],
    ["of objects match a deletion by what is deleted", app, { old: labelled({ app: "a" }) }, true],
  ])("%s", (_, hook, asked, want) => expect(matchesSelectors(hook, call(asked))).toBe(want))
})

describe("conditions", () => {
  const when = (...expressions: string[]): JsonObject => ({
    matchConditions: expressions.map((expression, i) => ({ name: `c${i}`, expression })),
  })
  const object = { metadata: { name: "x" } }
  it.each<[string, JsonObject, boolean | { error: unknown }]>([
    ["match when there are none", {}, true],
    ["match when all hold", when("object.metadata.name == 'x'", "true"), true],
    ["do not when one fails", when("true", "object.metadata.name == 'y'"), false],
    ["do not when one fails and another cannot be told", when("object.nothing == 1", "false"), false],
    [
      "are a failure when none fails and one cannot be told",
      when("object.nothing == 1"),
      { error: expect.any(String) },
    ],
  ])("%s", (_, hook, want) => expect(matchesConditions(hook, call({ object }), {})).toEqual(want))
})
