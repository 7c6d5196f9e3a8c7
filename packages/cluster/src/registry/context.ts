// SPDX-License-Identifier: Apache-2.0
// The context of a request: the user, its options, and the warnings for the response.

import type { JsonObject } from "../value.js"

export interface User {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export interface RequestContext {
  readonly user: User
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: "Strict" | "Warn" | "Ignore"
  /** Sent as HTTP Warning headers, each once. */
  readonly warn: (text: string) => void
  readonly now: () => number
  readonly signal: AbortSignal | undefined
  /** Runs a step of work on the document when it is this caller's turn, or at once if undefined. */
  readonly inTurn?: InTurn
}

export type InTurn = <T>(step: () => T) => Promise<T>

export async function inTurn<T>({ inTurn: run }: Pick<RequestContext, "inTurn">, step: () => T): Promise<T> {
  return run === undefined ? step() : run(step)
}

export type Operation = "CREATE" | "UPDATE" | "DELETE"

export interface AdmissionRequest {
  readonly operation: Operation
  readonly object: JsonObject | null
  readonly oldObject: JsonObject | null
  readonly options: JsonObject
}

export function userInfo(user: User): JsonObject {
  const out: JsonObject = { username: user.name }
  if (user.uid !== "") out.uid = user.uid
  if (user.groups.length > 0) out.groups = [...user.groups]
  if (Object.keys(user.extra).length > 0)
    out.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]))
  return out
}
