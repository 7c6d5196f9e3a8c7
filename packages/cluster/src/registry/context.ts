// SPDX-License-Identifier: Apache-2.0
//
// What a request brings along: who asks, with which options, and where warnings for the answer are gathered.

import type { JsonObject } from "../value.js"

export interface User {
  name: string
  uid: string
  groups: readonly string[]
  extra: Readonly<Record<string, readonly string[]>>
}

export interface RequestContext {
  user: User
  namespace: string
  name: string
  subresource: string
  dryRun: boolean
  fieldManager: string
  fieldValidation: "Strict" | "Warn" | "Ignore"
  /** Shown as HTTP Warning headers, each once. */
  warn: (text: string) => void
  now: () => number
  signal: AbortSignal | undefined
}

export type Operation = "CREATE" | "UPDATE" | "DELETE"

export interface AdmissionRequest {
  operation: Operation
  object: JsonObject | null
  oldObject: JsonObject | null
  options: JsonObject
}

export function userInfo(user: User): JsonObject {
  const out: JsonObject = { username: user.name }
  if (user.uid !== "") out.uid = user.uid
  if (user.groups.length > 0) out.groups = [...user.groups]
  if (Object.keys(user.extra).length > 0)
    out.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]))
  return out
}
