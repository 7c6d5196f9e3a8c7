// SPDX-License-Identifier: Apache-2.0
// Where one is, all of it behind the `#`: a page below any path needs no server that knows its places, and what people
// filter by stands in no log. `#/decisions?verdict=deny` is the path `/decisions` and the search `verdict=deny`.

import { useSyncExternalStore } from "react"

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed)
  return () => window.removeEventListener("hashchange", changed)
}

function parts(): readonly [path: string, search: string] {
  const whole = window.location.hash.replace(/^#?\/?/, "/")
  const at = whole.indexOf("?")
  return at < 0 ? [whole, ""] : [whole.slice(0, at), whole.slice(at + 1)]
}

export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (!replace) {
    window.location.hash = to
    return
  }
  window.history.replaceState(null, "", `#${to}`)
  window.dispatchEvent(new HashChangeEvent("hashchange"))
}

export function useHashLocation(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, () => parts()[0]), navigate]
}

useHashLocation.hrefs = (to: string): string => `#${to}`

export function useHashSearch(): string {
  return useSyncExternalStore(subscribe, () => parts()[1])
}

/** The search as it is, and how to change it without a step in the history. */
export function useSearchParameters(): [URLSearchParams, (change: (to: URLSearchParams) => void) => void] {
  const search = new URLSearchParams(useHashSearch())
  return [
    search,
    change => {
      const [path, now] = parts()
      const next = new URLSearchParams(now)
      change(next)
      const text = next.toString()
      navigate(text === "" ? path : `${path}?${text}`, { replace: true })
    },
  ]
}
