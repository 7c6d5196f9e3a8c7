// SPDX-License-Identifier: Apache-2.0
// Whether the page is hidden. Polling pauses while it is: react-query does that on its own, streams use this.

import { useSyncExternalStore } from "react"

export function useHidden(): boolean {
  return useSyncExternalStore(subscribe, () => document.hidden)
}

function subscribe(changed: () => void): () => void {
  document.addEventListener("visibilitychange", changed)
  return () => document.removeEventListener("visibilitychange", changed)
}
