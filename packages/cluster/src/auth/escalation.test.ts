// SPDX-License-Identifier: Apache-2.0
//
// Who may write which role and which binding: users cannot grant permissions that they do not have.

import { describe, expect, it } from "vitest"
import { ApiError } from "../meta/status.js"
import type { RequestContext } from "../registry/context.js"
import { catalog, type Grant, granted, stored } from "../testing/stored.js"
import type { JsonObject } from "../value.js"
import { checkEscalation } from "./escalation.js"
import { Rbac } from "./rbac.js"

const GROUP = "rbac.authorization.k8s.io"
const readSecrets: Grant = { verbs: ["get"], resources: ["secrets"] }
const readPods: Grant = { verbs: ["get", "list"], resources: ["pods"] }
const anyPod: Grant = { verbs: ["*"], resources: ["pods"] }

const world = [
  ...granted("reader", "reads-pods", [readPods]),
  ...granted("local", "local-pods", [readPods], "shop"),
  ...granted("escalator", "escalates", [
    { verbs: ["escalate"], apiGroups: [GROUP], resources: ["clusterroles"], resourceNames: ["wide"] },
  ]),
  ...granted("binder", "binds", [
    { verbs: ["bind"], apiGroups: [GROUP], resources: ["clusterroles"], resourceNames: ["secret-reader"] },
  ]),
  ...granted("nobody-special", "secret-reader", [readSecrets]),
]

function context(user: string, namespace = "", groups: string[] = ["system:authenticated"]): RequestContext {
  return {
    ...{ user: { name: user, uid: "", groups, extra: {} }, namespace, name: "", subresource: "", dryRun: false },
    ...{ fieldManager: "", fieldValidation: "Ignore", warn: () => undefined, now: Date.now, signal: undefined },
  }
}

const role = (name: string, ...rules: Grant[]): JsonObject => ({
  metadata: { name },
  rules: rules.map(rule => ({ apiGroups: [""], ...rule })),
})
const binding = (name: string, kind = "ClusterRole", to = "anybody"): JsonObject => ({
  metadata: { name: "b" },
  roleRef: { apiGroup: GROUP, kind, name },
  subjects: [{ kind: "User", name: to, apiGroup: GROUP }],
})

async function write(
  plural: string,
  object: JsonObject,
  by: RequestContext,
  old: JsonObject | null = null,
): Promise<string> {
  const rbac = new Rbac(stored(world), catalog)
  try {
    await checkEscalation(rbac, catalog.builtin(GROUP, "v1", plural), object, old, by)
    return "written"
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.code} ${error.message}`
  }
}

describe("a role", () => {
  it.each<[string, string, JsonObject, RequestContext, JsonObject | null, RegExp]>([
    [
      "is written if its author holds all its rights",
      "clusterroles",
      role("r", readPods),
      context("reader"),
      null,
      /^written$/,
    ],
    [
      "with more rights than its author has is forbidden",
      "clusterroles",
      role("r", readPods, readSecrets),
      context("reader"),
      null,
      /^403 /,
    ],
    [
      "of all verbs is more than some of them",
      "clusterroles",
      role("r", anyPod),
      context("reader"),
      null,
      /^403 .*attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["pods"\], Verbs:\["\*"\]\}$/s,
    ],
    [
      "of another group is more",
      "clusterroles",
      role("r", { ...readPods, apiGroups: ["apps"] }),
      context("reader"),
      null,
      /^403 /,
    ],
    [
      "for one name is less than for all",
      "clusterroles",
      role("r", { ...readPods, resourceNames: ["a"] }),
      context("reader"),
      null,
      /^written$/,
    ],
    [
      "in a namespace needs the rights in that namespace",
      "roles",
      role("r", readPods),
      context("local", "shop"),
      null,
      /^written$/,
    ],
    ["in another namespace is forbidden", "roles", role("r", readPods), context("local", "bank"), null, /^403 /],
    [
      "for the cluster is more than the same rights in a namespace",
      "clusterroles",
      role("r", readPods),
      context("local"),
      null,
      /^403 /,
    ],
    [
      "may have any rights if its author may escalate it",
      "clusterroles",
      role("wide", readSecrets),
      context("escalator"),
      null,
      /^written$/,
    ],
    [
      "is checked if its author may escalate only another one",
      "clusterroles",
      role("wider", readSecrets),
      context("escalator"),
      null,
      /^403 /,
    ],
    [
      "with unchanged rules may be labelled by any user",
      "clusterroles",
      role("r", readSecrets),
      context("reader"),
      role("r", readSecrets),
      /^written$/,
    ],
    [
      "with additional rules is checked again",
      "clusterroles",
      role("r", readPods, readSecrets),
      context("reader"),
      role("r", readPods),
      /^403 /,
    ],
    [
      "of paths needs the rights to those paths",
      "clusterroles",
      role("r", { verbs: ["get"], apiGroups: [], nonResourceURLs: ["/metrics"] }),
      context("reader"),
      null,
      /^403 /,
    ],
    [
      "may be written by an administrator",
      "clusterroles",
      role("r", readSecrets),
      context("root", "", ["system:masters"]),
      null,
      /^written$/,
    ],
  ])("%s", async (_, plural, object, by, old, want) => {
    expect(await write(plural, object, by, old)).toMatch(want)
  })
})

describe("a binding", () => {
  it.each<[string, string, JsonObject, RequestContext, JsonObject | null, RegExp]>([
    [
      "to a role whose rights its author holds is written",
      "clusterrolebindings",
      binding("reads-pods"),
      context("reader"),
      null,
      /^written$/,
    ],
    [
      "to a role with more rights is forbidden",
      "clusterrolebindings",
      binding("secret-reader"),
      context("reader"),
      null,
      /^403 /,
    ],
    [
      "to its author is no exception",
      "clusterrolebindings",
      binding("secret-reader", "ClusterRole", "reader"),
      context("reader"),
      null,
      /^403 /,
    ],
    [
      "is written if its author may bind the role",
      "clusterrolebindings",
      binding("secret-reader"),
      context("binder"),
      null,
      /^written$/,
    ],
    ["to another role is forbidden", "clusterrolebindings", binding("reads-pods"), context("binder"), null, /^403 /],
    [
      "within a namespace needs the rights in that namespace",
      "rolebindings",
      binding("secret-reader"),
      context("local", "shop"),
      null,
      /^403 /,
    ],
    [
      "to a role of the namespace is written if its author holds the rights there",
      "rolebindings",
      binding("local-pods", "Role"),
      context("local", "shop"),
      null,
      /^written$/,
    ],
    [
      "to a missing role is forbidden, because the role may grant anything later",
      "rolebindings",
      binding("to-come"),
      context("local", "shop"),
      null,
      /^404 /,
    ],
    [
      "that does not change is not checked",
      "clusterrolebindings",
      binding("secret-reader"),
      context("reader"),
      binding("secret-reader"),
      /^written$/,
    ],
    [
      "with an additional subject is checked",
      "clusterrolebindings",
      binding("secret-reader", "ClusterRole", "reader"),
      context("reader"),
      binding("secret-reader"),
      /^403 /,
    ],
  ])("%s", async (_, plural, object, by, old, want) => {
    expect(await write(plural, object, by, old)).toMatch(want)
  })
})

it("other kinds are not checked", async () => {
  const rbac = new Rbac(stored(world), catalog)
  const pods = catalog.builtin("", "v1", "pods")
  await checkEscalation(rbac, pods, role("r", readSecrets), null, context("reader", "shop"))
})
