// SPDX-License-Identifier: Apache-2.0
// Moves the focus to the element that replaces the focused control. Without it, users of screen readers and keyboards would
// start at the top of the page again.

import { type RefObject, useEffect, useRef } from "react"

/** Returns a ref for the element that gets the focus when it is mounted. The element needs a `tabIndex`. */
export function useFocusHere<T extends HTMLElement>(): RefObject<T | null> {
  const element = useRef<T>(null)
  useEffect(() => element.current?.focus({ preventScroll: true }), [])
  return element
}
