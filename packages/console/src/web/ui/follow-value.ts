// SPDX-License-Identifier: Apache-2.0
// A field that follows the address, except while the user types into it.

import { type RefObject, useEffect, useRef } from "react"

export function useFollowValue(value: string): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const { current } = field
    if (current !== null && document.activeElement !== current) current.value = value
  }, [value])
  return field
}
