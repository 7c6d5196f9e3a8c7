// SPDX-License-Identifier: Apache-2.0
// Moves the focus to what replaces the control that had it: otherwise screen readers and keyboards begin at the top again.

import { type RefObject, useEffect, useRef } from "react"

/** Of an element that takes the focus when it is shown first; it needs a `tabIndex`. */
export function useFocusHere<T extends HTMLElement>(): RefObject<T | null> {
  const element = useRef<T>(null)
  useEffect(() => element.current?.focus({ preventScroll: true }), [])
  return element
}
