// SPDX-License-Identifier: Apache-2.0
//
// Impersonation: each name, group, uid and extra that a caller claims needs its own permission.

import { describe, expect, it } from "vitest"
import { ApiError } from "../meta/status.js"
import type { User } from "../registry/context.js"
import { catalog, granted, stored } from "../testing/stored.js"
import { type ImpersonationHeaders, impersonate, readImpersonation } from "./impersonate.js"
import { Rbac } from "./rbac.js"

const may = (resources: string[], resourceNames?: string[], apiGroups = [""]) => ({
  ...{ verbs: ["impersonate"], resources, apiGroups },
  ...(resourceNames === undefined ? {} : { resourceNames }),
})
const AUTHENTICATION = ["authentication.k8s.io"]
const rbac = new Rbac(
  stored([
    ...granted("users-only", "users-only", [may(["users"])]),
    ...granted("jane-only", "jane-only", [may(["users"], ["jane"])]),
    ...granted("developers", "developers", [may(["users"]), may(["groups"], ["developers"])]),
    ...granted("extras", "extras", [may(["users"]), may(["userextras/scopes"], ["view"], AUTHENTICATION)]),
    ...granted("uids", "uids", [may(["users"]), may(["uids"], ["7"], AUTHENTICATION)]),
    ...granted("accounts", "accounts", [may(["serviceaccounts"])], "shop"),
  ]),
  catalog,
)

async function as(caller: string, wanted: Partial<ImpersonationHeaders>): Promise<User | string> {
  const who: User = { name: caller, uid: "", groups: ["system:authenticated"], extra: {} }
  try {
    return await impersonate(who, { user: "", groups: [], uid: "", extra: {}, ...wanted }, rbac)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.code} ${error.message}`
  }
}

describe("a caller may impersonate", () => {
  it.each<[string, string, Partial<ImpersonationHeaders>, readonly string[]]>([
    ["a user", "users-only", { user: "jane" }, ["system:authenticated"]],
    ["one user by name", "jane-only", { user: "jane" }, ["system:authenticated"]],
    ["a group", "developers", { user: "j", groups: ["developers"] }, ["developers", "system:authenticated"]],
    ["an extra", "extras", { user: "j", extra: { scopes: ["view"] } }, ["system:authenticated"]],
    ["a uid", "uids", { user: "j", uid: "7" }, ["system:authenticated"]],
    [
      "a service account of a permitted namespace, with the groups of that account",
      "accounts",
      { user: "system:serviceaccount:shop:a" },
      ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
    ],
    [
      "the anonymous user, who is not in the group of authenticated users",
      "users-only",
      { user: "system:anonymous" },
      ["system:unauthenticated"],
    ],
  ])("%s", async (_, caller, wanted, groups) => {
    expect(await as(caller, wanted)).toMatchObject({ name: wanted.user, groups, uid: wanted.uid ?? "" })
  })
})

describe("a caller may not impersonate", () => {
  it.each<[string, string, Partial<ImpersonationHeaders>, RegExp]>([
    ["another user", "jane-only", { user: "john" }, /^403 users "john" is forbidden/],
    [
      "a group, with the permission for users only",
      "users-only",
      { user: "j", groups: ["developers"] },
      /^403 groups "developers" is forbidden/,
    ],
    [
      "the administrators' group",
      "users-only",
      { user: "j", groups: ["system:masters"] },
      /^403 groups "system:masters" is forbidden/,
    ],
    [
      "one of two groups",
      "developers",
      { user: "j", groups: ["developers", "system:masters"] },
      /^403 groups "system:masters"/,
    ],
    ["another extra", "extras", { user: "j", extra: { scopes: ["edit"] } }, /^403 userextras.*"edit" is forbidden/],
    [
      "the second value of an extra",
      "extras",
      { user: "j", extra: { scopes: ["view", "edit"] } },
      /^403 userextras.*"edit"/,
    ],
    ["an extra with another key", "extras", { user: "j", extra: { other: ["view"] } }, /^403 userextras/],
    ["another uid", "uids", { user: "j", uid: "8" }, /^403 uids.*"8" is forbidden/],
    [
      "an account with the right to users",
      "users-only",
      { user: "system:serviceaccount:shop:a" },
      /^403 serviceaccounts "a" is forbidden/,
    ],
    [
      "an account of another namespace",
      "accounts",
      { user: "system:serviceaccount:bank:a" },
      /^403 serviceaccounts "a"/,
    ],
    ["any user without a permission", "stranger", { user: "j" }, /^403 users "j" is forbidden/],
    ["groups without a user", "developers", { groups: ["developers"] }, /^400 .*without impersonating a user name/],
  ])("%s", async (_, caller, wanted, want) => {
    expect(await as(caller, wanted)).toMatch(want)
  })
})

describe("the headers", () => {
  it("that repeat are read one by one, never joined by commas", () => {
    const raw = ["Impersonate-Group", "a", "impersonate-group", "b, c", "Impersonate-Extra-Acme%2fScope", "x"]
    expect(readImpersonation({ "impersonate-user": "j" }, raw)).toEqual({
      ...{ user: "j", groups: ["a", "b, c"], uid: "", extra: { "acme/scope": ["x"] } },
    })
  })

  it("are optional", () => {
    expect(readImpersonation({ accept: "*/*" }, ["Accept", "*/*"])).toBeUndefined()
  })

  it.each(["Impersonate-Group", "Impersonate-Extra-a"])("with %s alone are not ignored", name => {
    expect(readImpersonation({}, [name, "x"])).toBeDefined()
  })
})
