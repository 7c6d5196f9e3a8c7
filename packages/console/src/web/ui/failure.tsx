// SPDX-License-Identifier: Apache-2.0
// An error, and what to do about it.

import type { ReactNode } from "react"
import { ApiError } from "../api/client.js"
import { isRejectedChange, messageOf } from "../api/rejected-change.js"
import { Worded } from "./worded.js"

export function Failure({ error }: { readonly error: Error }): ReactNode {
  return (
    <div role="alert">
      <p>{isUnserved(error) ? "The control plane does not serve this query." : <Worded text={messageOf(error)} />}</p>
      <p className="hint">
        <Worded text={adviceFor(error)} />
      </p>
    </div>
  )
}

/** Whether the API does not serve the path: it answers unknown paths without a reason. */
function isUnserved(error: Error): boolean {
  return error instanceof ApiError && error.status === 404 && error.reason === ""
}

function adviceFor(error: Error): string {
  if (!(error instanceof ApiError)) return "Reload the page. If this stays, it is a bug in the console."
  if (isRejectedChange(error)) return "Your rights are sufficient: the change itself was rejected."
  if (error.status === 401) return "Sign in again."
  if (error.status === 403)
    return "Your account lacks this right. Ask a cluster admin; the role `view` is enough to read."
  if (error.status === 404) return "It does not exist, or this control plane is older than the console."
  if (error.status === 429) return "Too many concurrent queries. The console retries in a few seconds."
  if (error.status >= 500) return "The console retries until the control plane answers."
  return "Change the request and try again."
}
