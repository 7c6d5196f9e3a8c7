// SPDX-License-Identifier: Apache-2.0
// Whether nobody can see the page. What asks again and again does not ask then: questions of react-query know it by
// themselves, streams by this.

import { useSyncExternalStore } from "react"

export function useHidden(): boolean {
  return useSyncExternalStore(subscribe, () => document.hidden)
}

function subscribe(changed: () => void): () => void {
  document.addEventListener("visibilitychange", changed)
  return () => document.removeEventListener("visibilitychange", changed)
}
