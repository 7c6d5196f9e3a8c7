// SPDX-License-Identifier: Apache-2.0
// Events for status changes: computed by comparing two statuses, so that a restart repeats nothing.

import type { Status, StatusCondition } from "@merlon/policy/resources"
import type { EventReason } from "./events.js"

export interface StatusEvent {
  readonly reason: EventReason
  readonly message: string
}

const TROUBLE = ["Stale", "NoKeys"]

export function eventsBetween(previous: Status | undefined, next: Status): readonly StatusEvent[] {
  const events: StatusEvent[] = []
  for (const now of next.conditions ?? []) {
    const before = previous?.conditions?.find(({ type }) => type === now.type)
    const reason = reasonOf(before, now)
    if (reason !== undefined) events.push({ reason, message: now.message })
  }
  return events
}

function reasonOf(before: StatusCondition | undefined, now: StatusCondition): EventReason | undefined {
  switch (now.type) {
    case "Accepted":
      return now.status === "False" && before?.status !== "False" ? "InvalidStored" : undefined
    case "Superseded":
      return now.status === "True" && before?.status !== "True" ? "Superseded" : undefined
    case "Enforced":
      return now.reason === "Rejected" && before?.reason !== "Rejected" ? "ProxyRejected" : undefined
    case "JwksReady": {
      const wasInTrouble = TROUBLE.includes(before?.reason ?? "")
      if (TROUBLE.includes(now.reason)) return before?.reason === now.reason ? undefined : "JwksFetchFailed"
      return wasInTrouble && now.reason === "Ready" ? "JwksRecovered" : undefined
    }
    default:
      return undefined
  }
}
