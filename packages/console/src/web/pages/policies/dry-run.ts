// SPDX-License-Identifier: Apache-2.0
// A server-side dry run of the text, sent shortly after the last keystroke.

import { useQuery } from "@tanstack/react-query"
import { ApiError } from "../../api/client.js"
import type { Policy } from "../../api/objects.js"
import { useSession } from "../../shell/session.js"
import { useLater } from "../../ui/later.js"
import { save } from "./save.js"

export interface DryRun {
  readonly passed: boolean
  readonly error: Error | undefined
  readonly causes: readonly { readonly field: string; readonly message: string }[]
  readonly warnings: readonly string[]
}

const PAUSE_MS = 350
const AGAIN_MS = 3_000
/** Wording of the control plane's messages. */
const NOT_DECIDED = "is not decided"
const BROKEN = / of PolicyInvariant \S+ is broken on /

/** Whether the message says that an invariant was not decided in time. */
export function isUndecided(message: string): boolean {
  return message.includes(NOT_DECIDED)
}

/** Whether the message says that an invariant is broken: the edited one, or another one that does not reject the change. */
export function isBroken(message: string): boolean {
  return BROKEN.test(message)
}

/** Whether every invariant is proved to hold after the change. */
export function allHold({ passed, warnings }: DryRun): boolean {
  return passed && !warnings.some(warning => isUndecided(warning) || isBroken(warning))
}

export function useDryRun(policy: Policy | undefined, stored: Policy | undefined): DryRun {
  const { names } = useSession()
  const text = policy === undefined ? undefined : JSON.stringify(policy)
  const settled = useLater(text, PAUSE_MS)
  const query = useQuery({
    queryKey: ["dry-run", settled, stored?.metadata.resourceVersion],
    queryFn: () => save(names, JSON.parse(settled ?? "{}"), stored, true),
    enabled: settled !== undefined,
    retry: false,
    // Invariants that were not decided in time are tried again.
    refetchInterval: ({ state }) => (isUndecided(state.error?.message ?? "") ? AGAIN_MS : false),
  })
  const { error } = query
  const current = settled !== undefined && settled === text
  return {
    passed: current && query.isSuccess,
    error: current ? (error ?? undefined) : undefined,
    causes: current && error instanceof ApiError ? error.causes.flatMap(causeOf) : [],
    warnings: current ? (query.data?.warnings ?? []) : [],
  }
}

function causeOf({ field, message }: ApiError["causes"][number]): DryRun["causes"] {
  return field === undefined || field === "<nil>" ? [] : [{ field, message: message ?? "is invalid" }]
}
