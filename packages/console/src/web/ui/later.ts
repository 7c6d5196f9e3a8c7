// SPDX-License-Identifier: Apache-2.0
// A value once it has stayed the same for a while: questions are not asked of every letter.

import { useEffect, useState } from "react"

export function useLater<T>(value: T, pauseMs: number): T {
  const [later, setLater] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value, pauseMs])
  return later
}
