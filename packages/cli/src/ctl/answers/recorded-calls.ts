// SPDX-License-Identifier: Apache-2.0
// The calls that the mesh has recorded, from its control plane: of all namespaces, or of one if the user may not list
// all.

import { ApiError } from "@merlon/control/kubernetes"
import { type ObservedCall, readCalls } from "@merlon/policy/ledger"
import { ShapeError } from "@merlon/policy/shape"
import { CommandError } from "../exit.js"
import { fieldsOf } from "../foreign.js"
import { type ObservedList, observedList } from "../observed/answers-api.js"
import type { Session } from "../session.js"

/** More than a control plane stores. */
const MAX_CALLS = 20_000

export async function recordedCalls(session: Session, note: (text: string) => void): Promise<readonly ObservedCall[]> {
  const { items, notes } = await everywhere(session, note)
  const { remainingItemCount: more } = fieldsOf(notes.metadata)
  if (typeof more === "number" && more > 0) note(`${more} more kinds of calls are recorded and were not read`)
  if (typeof notes.forgotten === "number" && notes.forgotten > 0) {
    note(`${notes.forgotten} shapes of calls were forgotten for lack of room, and are not looked at`)
  }
  try {
    return readCalls(items, MAX_CALLS)
  } catch (error) {
    throw error instanceof ShapeError
      ? new CommandError("unreadable-file", `${session.origin}: ${error.message}`)
      : error
  }
}

async function everywhere(session: Session, note: (text: string) => void): Promise<ObservedList> {
  const ask = (namespace: string | undefined): Promise<ObservedList> => {
    const query = new URLSearchParams({ limit: String(MAX_CALLS) })
    return observedList(session, { resource: "calls", namespace, query })
  }
  try {
    return await ask(undefined)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 403) throw error
    note(`you may not ask for the calls of all namespaces, so those of \`${session.namespace}\` alone are looked at`)
    return ask(session.namespace)
  }
}
