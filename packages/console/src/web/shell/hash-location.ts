// SPDX-License-Identifier: Apache-2.0
// The location is in the URL's fragment: the console works below any path without a server that knows its routes, and no
// access log contains filters. `#/traffic?verdict=deny` is the path `/traffic` and the search `verdict=deny`.

import { useSyncExternalStore } from "react"

/** The parameter with the namespace filter. It stays when the path changes. */
export const NAMESPACE = "ns"

/** Paths of earlier versions, by their first segment: links to them keep working. */
const RENAMED: Readonly<Record<string, string>> = {
  "/decisions": "/traffic",
  "/graph": "/map",
  "/plaintext": "/mtls",
  "/try": "/playground",
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed)
  return () => window.removeEventListener("hashchange", changed)
}

function parts(): readonly [path: string, search: string] {
  const whole = window.location.hash.replace(/^#?\/?/, "/")
  const at = whole.indexOf("?")
  const [path, search] = at < 0 ? [whole, ""] : [whole.slice(0, at), whole.slice(at + 1)]
  return [path.replace(/^\/\w+(?=\/|$)/, first => RENAMED[first] ?? first), search]
}

/** Adds the current namespace filter, unless the address has one. */
function withNamespace(to: string): string {
  const namespace = new URLSearchParams(parts()[1]).get(NAMESPACE)
  const [path = "", search = ""] = to.split(/\?(.*)/s)
  const next = new URLSearchParams(search)
  if (namespace === null || next.has(NAMESPACE)) return to
  next.set(NAMESPACE, namespace)
  return `${path}?${next.toString()}`
}

export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const whole = withNamespace(to)
  if (replace) replaceLocation(whole)
  else window.location.hash = whole
}

function replaceLocation(whole: string): void {
  window.history.replaceState(null, "", `#${whole}`)
  window.dispatchEvent(new HashChangeEvent("hashchange"))
}

export function useHashLocation(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, () => parts()[0]), navigate]
}

useHashLocation.hrefs = (to: string): string => `#${withNamespace(to)}`

export function useHashSearch(): string {
  return useSyncExternalStore(subscribe, () => parts()[1])
}

/** The current search parameters, and a function that changes them without adding an entry to the browser's history. */
export function useSearchParameters(): [URLSearchParams, (change: (to: URLSearchParams) => void) => void] {
  const search = new URLSearchParams(useHashSearch())
  return [
    search,
    change => {
      const [path, now] = parts()
      const next = new URLSearchParams(now)
      change(next)
      const text = next.toString()
      replaceLocation(text === "" ? path : `${path}?${text}`)
    },
  ]
}
