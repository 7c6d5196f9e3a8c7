// SPDX-License-Identifier: Apache-2.0
// A recorded denied call: whether it stands for a single request, and the link to similar calls.

import type { ObservedCall } from "../../api/answers.js"
import { principalOf } from "../../ui/names.js"

/** A path with placeholders stands for many requests. */
export function isOneRequest({ path, method, address }: ObservedCall): boolean {
  return method !== undefined && isLiteral(path ?? "") && address !== "*"
}

/** The `explanations` request for the call. */
export function questionOf({ workload, caller, address, method, path }: ObservedCall): object {
  return {
    workload,
    request: {
      ...(caller === undefined ? (address === undefined ? {} : { ip: address }) : { from: principalOf(caller) }),
      ...{ method, path: path ?? "/" },
    },
  }
}

/** The link to the Traffic page, filtered by similar denied calls. */
export function trafficOf({ workload, path }: ObservedCall): string {
  const like = path === undefined || !isLiteral(path) ? {} : { path }
  return `/traffic?${new URLSearchParams({ verdict: "deny", workload: `${workload}*`, ...like }).toString()}`
}

function isLiteral(path: string): boolean {
  return !/[{*]/.test(path)
}
