// SPDX-License-Identifier: Apache-2.0
// A delta session with an in-memory source and a clock that the test sets.

import { type DeltaRequest, DeltaSession } from "../delta-session.js"
import type { DeltaResponse } from "../delta-type.js"
import { DEFAULT_SERVER_LIMITS, type StreamLimits } from "../limits.js"
import type { StreamError } from "../stream-error.js"
import { MemorySource } from "./memory-source.js"

export const TYPE = "type.googleapis.com/test.Thing"

export function deltaRig(limits: Partial<StreamLimits> = {}, source = new MemorySource()) {
  const overdue: string[] = []
  const subscriber = source.subscribe(typeUrl => session.wake(typeUrl))
  const session: DeltaSession = new DeltaSession({
    subscriber,
    mayWatch: typeUrl => source.rejectedTypes.get(typeUrl),
    limits: { ...DEFAULT_SERVER_LIMITS, ...limits },
    observe: { overdue: typeUrl => void overdue.push(typeUrl) },
  })
  const clock = { now: 1_000 }
  const ask = (request: Partial<DeltaRequest>): StreamError | undefined =>
    session.request({
      typeUrl: TYPE,
      resourceNamesSubscribe: [],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: {},
      responseNonce: "",
      ...request,
    })
  const next = (): DeltaResponse | undefined => session.next(clock.now)
  return {
    source,
    session,
    subscriber,
    clock,
    overdue,
    ask,
    next,
    subscribe: (...names: string[]) => ask({ resourceNamesSubscribe: names }),
    unsubscribe: (...names: string[]) => ask({ resourceNamesUnsubscribe: names }),
    ack: (response: DeltaResponse | undefined) => ask({ responseNonce: response?.nonce ?? "none" }),
    nack: (response: DeltaResponse | undefined, message = "no") =>
      ask({ responseNonce: response?.nonce ?? "none", errorDetail: { message } }),
  }
}

/** `name@version` for sent resources, `-name` for removals; undefined without a response. */
export function summary(response: DeltaResponse | undefined): readonly string[] | undefined {
  if (response === undefined) return undefined
  const { resources, removed } = response
  return [...resources.map(({ name, version }) => `${name}@${version}`), ...removed.map(name => `-${name}`)].sort()
}
