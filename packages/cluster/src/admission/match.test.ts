// SPDX-License-Identifier: Apache-2.0
//
// Which requests a webhook receives. A webhook cannot reject a request that it does not receive, so every part of a
// match is tested separately.

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
    ["match the resource that they name", [rule()], {}, true],
    ["do not match other operations", [rule()], { operation: "DELETE" }, false],
    ["match every operation with `*`", [rule({ operations: ["*"] })], { operation: "DELETE" }, true],
    ["do not match other resources", [rule()], { plural: "services" }, false],
    ["do not match other groups", [rule({ apiGroups: ["apps"] })], {}, false],
    [
      "match every group with `*`",
      [rule({ apiGroups: ["*"], resources: ["*"] })],
      { plural: "deployments", group: "apps" },
      true,
    ],
    ["do not match other versions", [rule({ apiVersions: ["v2"] })], {}, false],
    ["do not match a subresource if they name only the resource", [rule()], { subresource: "status" }, false],
    ["match a subresource by its name", [rule({ resources: ["pods/status"] })], { subresource: "status" }, true],
    ["do not match the resource if they name a subresource", [rule({ resources: ["pods/status"] })], {}, false],
    ["with `*` match resources but not subresources", [rule({ resources: ["*"] })], { subresource: "status" }, false],
    [
      "with `pods/*` match every subresource of Pods",
      [rule({ resources: ["pods/*"] })],
      { subresource: "status" },
      true,
    ],
    ["with `*/*` match everything", [rule({ resources: ["*/*"] })], { subresource: "status" }, true],
    ["of cluster scope do not match namespaced objects", [rule({ scope: "Cluster" })], {}, false],
    [
      "of namespaced scope do not match cluster-scoped objects",
      [rule({ scope: "Namespaced", resources: ["nodes"] })],
      { plural: "nodes" },
      false,
    ],
    ["match when any of them matches", [rule({ resources: ["services"] }), rule()], {}, true],
    ["match nothing when the list is empty", [], {}, false],
  ])("%s", (_, rules, asked, want) => expect(matchesRules(rules, call(asked))).toBe(want))
})

describe("selectors", () => {
  const on = { namespaceSelector: { matchLabels: { mesh: "on" } } }
  const app = { objectSelector: { matchLabels: { app: "a" } } }
  it.each<[string, JsonObject, Asked, boolean]>([
    ["that are empty match", { namespaceSelector: {}, objectSelector: {} }, {}, true],
    ["of namespaces match the namespace's labels", on, { namespaceLabels: { mesh: "on" } }, true],
    ["of namespaces do not match other labels", on, { namespaceLabels: { mesh: "off" } }, false],
    ["of namespaces match every cluster-scoped object", on, { plural: "nodes" }, true],
    [
      "of namespaces are compared with the labels of a Namespace object itself",
      on,
      { plural: "namespaces", namespaceLabels: {} },
      false,
    ],
    ["of objects match the object's labels", app, { object: labelled({ app: "a" }) }, true],
    ["of objects do not match other labels", app, { object: labelled({ app: "b" }) }, false],
    [
      "of objects match a removed label, so that removing it cannot bypass the webhook",
      app,
      { object: labelled({}), old: labelled({ app: "a" }) },
      true,
    ],
    ["of objects match the deleted object", app, { old: labelled({ app: "a" }) }, true],
  ])("%s", (_, hook, asked, want) => expect(matchesSelectors(hook, call(asked))).toBe(want))
})

describe("conditions", () => {
  const when = (...expressions: string[]): JsonObject => ({
    matchConditions: expressions.map((expression, i) => ({ name: `c${i}`, expression })),
  })
  const object = { metadata: { name: "x" } }
  it.each<[string, JsonObject, boolean | { error: unknown }]>([
    ["match when there are none", {}, true],
    ["match when all are true", when("object.metadata.name == 'x'", "true"), true],
    ["do not match when one is false", when("true", "object.metadata.name == 'y'"), false],
    ["do not match when one is false and another cannot be evaluated", when("object.nothing == 1", "false"), false],
    ["fail when none is false and one cannot be evaluated", when("object.nothing == 1"), { error: expect.any(String) }],
  ])("%s", (_, hook, want) => expect(matchesConditions(hook, call({ object }), {})).toEqual(want))
})
