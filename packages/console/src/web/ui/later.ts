// SPDX-License-Identifier: Apache-2.0
// Debounces a value, so that typing does not send a query for every letter.

import { useEffect, useState } from "react"

export function useLater<T>(value: T, pauseMs: number): T {
  const [later, setLater] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value, pauseMs])
  return later
}
