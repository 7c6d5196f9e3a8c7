// SPDX-License-Identifier: Apache-2.0
// What went wrong, and what to do about it.

import type { ReactNode } from "react"
import { ApiError } from "../api/client.js"

export function Failure({ error }: { readonly error: Error }): ReactNode {
  return (
    <div role="alert">
      <p>{isUnserved(error) ? "The control plane does not answer this question." : error.message}</p>
      <p className="hint">{adviceFor(error)}</p>
    </div>
  )
}

/** As a path of which the API knows nothing is answered. */
function isUnserved(error: Error): boolean {
  return error instanceof ApiError && error.status === 404 && error.reason === ""
}

function adviceFor(error: Error): string {
  if (!(error instanceof ApiError)) return "Reload the page; if it stays, this is a fault of the console."
  if (error.status === 401) return "Sign in again."
  if (error.status === 403) return "Ask whoever gives rights in this cluster for it; `view` is enough to read."
  if (error.status === 404) return "It is not there, or this control plane is older than the console: update it."
  if (error.status === 429) return "Wait a moment; the console asks again."
  if (error.status >= 500) return "The console asks again by itself until there is an answer."
  return "Change what was asked and try again."
}
