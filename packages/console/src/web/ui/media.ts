// SPDX-License-Identifier: Apache-2.0
// Whether a media query matches; updated when the window changes.

import { useCallback, useSyncExternalStore } from "react"

export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (changed: () => void) => {
      const list = matchMedia(query)
      list.addEventListener("change", changed)
      return () => list.removeEventListener("change", changed)
    },
    [query],
  )
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches)
}
