// SPDX-License-Identifier: Apache-2.0
// Waits until the written generation is `Ready`: valid, with workloads to protect and the keys it needs, and enforced by
// proxies that cannot be bypassed. For an invariant, until it holds. If waiting is pointless it fails at once, else at
// the timeout with what is still missing.

import { KINDS } from "@merlon/policy/resources"
import { pathOf } from "../api/path.js"
import type { AnyObject, Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import type { Session } from "../session.js"
import { visible } from "../terminal.js"

export interface Written {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string
  readonly generation: number
}

export interface Readiness {
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
}

/** Reasons for which waiting is pointless. */
const SETTLED = new Set([
  "NoWorkloads",
  "IgnoredSelector",
  "NoProxies",
  "NoProxy",
  "Bypassable",
  "Rejected",
  "Invalid",
  "Superseded",
  "Broken",
  "NotDecided",
])
/** The condition that means success for kinds without `Ready`. */
const GOALS: Readonly<Record<string, string>> = { PolicyInvariant: "Holds" }
const LOOK_MS = 100

/** Whether our control plane writes a status for the kind. */
export function isOurs({ group }: Pick<Resource, "group">, { names }: Session): boolean {
  return group === names.securityGroup || group === names.networkingGroup
}

/** Whether it is a policy of another mesh: its kind is one of ours, its group is not. */
export function isForeignPolicy({ kind, group }: Resource, session: Session): boolean {
  return !isOurs({ group }, session) && KINDS.some(known => known.kind === kind)
}

/** The status of this generation. Undefined while there is none. */
function readinessOf(object: unknown, generation: number, goal = "Ready"): Readiness | undefined {
  for (const condition of listOf(fieldsOf(fieldsOf(object).status).conditions)) {
    const { type, status, reason, message, observedGeneration } = fieldsOf(condition)
    if (type !== goal || typeof observedGeneration !== "number" || observedGeneration < generation) continue
    return {
      status: status === "True" || status === "False" ? status : "Unknown",
      reason: textOf(reason) ?? "",
      message: visible(textOf(message) ?? ""),
    }
  }
  return undefined
}

/** Returns the message of the status. Throws after the timeout, or if waiting is pointless. */
export async function awaitReady(session: Session, written: Written, timeoutMs: number): Promise<string> {
  const path = pathOf(written.resource, written)
  const end = Date.now() + timeoutMs
  for (;;) {
    const object = await session.api.request({ method: "GET", path })
    const readiness = readinessOf(object, written.generation, GOALS[written.resource.kind])
    if (readiness?.status === "True") return readiness.message
    if (readiness !== undefined && SETTLED.has(readiness.reason))
      throw new CommandError("not-ready", `not ready: ${readiness.message}`)
    if (Date.now() > end) {
      const last = readiness?.message ?? "the control plane has not processed it; is it running?"
      throw new CommandError("not-ready", `not ready within ${timeoutMs / 1000} s: ${last}`)
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
}

export function writtenOf(resource: Resource, { metadata }: AnyObject): Written {
  const { namespace, name, generation } = metadata
  return { resource, namespace, name, generation: typeof generation === "number" ? generation : 0 }
}
