// SPDX-License-Identifier: Apache-2.0
// One line of a watch. An invalid line is reported, because silence would look as if nothing had happened.

import { ApiError } from "@merlon/control/kubernetes"
import { fieldsOf } from "../foreign.js"

const TYPES = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const

export interface Event {
  readonly type: (typeof TYPES)[number]
  readonly object: unknown
}

export function eventOf(line: string): Event {
  const { type: eventType, object } = fieldsOf(parsed(line))
  const type = TYPES.find(one => one === eventType)
  if (type === undefined) {
    throw ApiError.unanswered(
      "api-bad-response",
      "the API server sent what is no watch event; is that the right address?",
    )
  }
  return { type, object }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
