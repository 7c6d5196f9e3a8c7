// SPDX-License-Identifier: Apache-2.0
// Whether the control plane answers, as the page's own questions find out.

import { useSyncExternalStore } from "react"
import { ApiError } from "../api/client.js"

let awaySince: number | undefined
const watching = new Set<() => void>()

export function noteAnswer(): void {
  set(undefined)
}

export function noteFailure(error: unknown): void {
  if (error instanceof ApiError && error.reason === "Unreachable") set(awaySince ?? Date.now())
}

/** Undefined while it answers. */
export function useAwaySince(): number | undefined {
  return useSyncExternalStore(subscribe, () => awaySince)
}

function set(since: number | undefined): void {
  if (awaySince === since) return
  awaySince = since
  for (const changed of watching) changed()
}

function subscribe(changed: () => void): () => void {
  watching.add(changed)
  return () => watching.delete(changed)
}
