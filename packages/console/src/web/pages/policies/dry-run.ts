// SPDX-License-Identifier: Apache-2.0
// What the cluster would say to the text as it is now, asked a moment after the last letter.

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
/** As the control plane words it. */
const NOT_DECIDED = "is not decided"

export function useDryRun(policy: Policy | undefined, stored: Policy | undefined): DryRun {
  const { names } = useSession()
  const text = policy === undefined ? undefined : JSON.stringify(policy)
  const settled = useLater(text, PAUSE_MS)
  const query = useQuery({
    queryKey: ["dry-run", settled, stored?.metadata.resourceVersion],
    queryFn: () => save(names, JSON.parse(settled ?? "{}"), stored, true),
    enabled: settled !== undefined,
    retry: false,
    // A busy moment is no answer: what must hold is looked at again, until it is decided.
    refetchInterval: ({ state }) => (state.error?.message.includes(NOT_DECIDED) === true ? AGAIN_MS : false),
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
  return field === undefined || field === "<nil>" ? [] : [{ field, message: message ?? "is not right" }]
}
