// SPDX-License-Identifier: Apache-2.0
//
// Impersonation: a caller with the right to do so acts as another user, group or service account for one request.

import type { IncomingHttpHeaders } from "node:http"
import { badRequest, forbiddenError } from "../meta/status.js"
import type { User } from "../registry/context.js"
import type { Rbac } from "./rbac.js"

const EXTRA = "impersonate-extra-"

function list(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}

export interface ImpersonationHeaders {
  readonly user: string
  readonly groups: string[]
  readonly uid: string
  readonly extra: Record<string, string[]>
}

/** Node joins repeated headers with commas, so the raw list is read instead. */
export function readImpersonation(
  headers: IncomingHttpHeaders,
  raw: readonly string[],
): ImpersonationHeaders | undefined {
  const groups: string[] = []
  const extra = new Map<string, string[]>()
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? "").toLowerCase()
    const value = raw[i + 1] ?? ""
    if (name === "impersonate-group") groups.push(value)
    else if (name.startsWith(EXTRA)) {
      const key = unescaped(name.slice(EXTRA.length)).toLowerCase()
      extra.set(key, [...(extra.get(key) ?? []), value])
    }
  }
  const user = list(headers["impersonate-user"])[0] ?? ""
  const uid = list(headers["impersonate-uid"])[0] ?? ""
  if (user === "" && groups.length === 0 && uid === "" && extra.size === 0) return undefined
  return { user, groups, uid, extra: Object.fromEntries(extra) }
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    // A key with an invalid escape is used as it was sent, as in Kubernetes.
    return key
  }
}

export async function impersonate(caller: User, wanted: ImpersonationHeaders, rbac: Rbac): Promise<User> {
  if (wanted.user === "") {
    const groups = wanted.groups.map(group => JSON.stringify(group)).join(", ")
    const extra = Object.entries(wanted.extra).map(
      ([key, values]) => `${JSON.stringify(key)}:[]string{${values.map(v => JSON.stringify(v)).join(", ")}}`,
    )
    const shown = extra.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${extra.join(", ")}}`
    throw badRequest(
      `requested &user.DefaultInfo{Name:"", UID:${JSON.stringify(wanted.uid)}, Groups:[]string{${groups}}, Extra:${shown}} without impersonating a user name`,
    )
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(wanted.user)
  const check = async (
    group: string,
    resource: string,
    name: string,
    namespace = "",
    subresource = "",
  ): Promise<void> => {
    const { allowed } = await rbac.authorize(caller, {
      verb: "impersonate",
      group,
      version: "v1",
      resource,
      subresource,
      namespace,
      name,
    })
    if (allowed) return
    const title = subresource === "" ? resource : `${resource}/${subresource}`
    const scope = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`
    throw forbiddenError(
      { group, resource },
      name,
      `User "${caller.name}" cannot impersonate resource "${title}" in API group "${group}" ${scope}`,
    )
  }
  if (account !== null) await check("", "serviceaccounts", account[2] ?? "", account[1] ?? "")
  else await check("", "users", wanted.user)
  for (const group of wanted.groups) await check("", "groups", group)
  for (const [key, values] of Object.entries(wanted.extra))
    for (const value of values) await check("authentication.k8s.io", "userextras", value, "", key)
  if (wanted.uid !== "") await check("authentication.k8s.io", "uids", wanted.uid)
  let groups = [...wanted.groups]
  if (account !== null && groups.length === 0)
    groups = ["system:serviceaccounts", `system:serviceaccounts:${account[1]}`]
  const unauthenticated = wanted.user === "system:anonymous"
  const own = unauthenticated ? "system:unauthenticated" : "system:authenticated"
  if (!groups.includes(own) && !(groups.includes("system:unauthenticated") && !unauthenticated)) groups.push(own)
  return { name: wanted.user, uid: wanted.uid, groups, extra: wanted.extra }
}
