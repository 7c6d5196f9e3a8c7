// SPDX-License-Identifier: Apache-2.0
// A denied call as it is recorded: whether it stands for one request, and where others like it are.

import type { ObservedCall } from "../../api/answers.js"
import { principalOf } from "../../ui/names.js"

/** A path with placeholders stands for many requests. */
export function isOneRequest({ path, method, address }: ObservedCall): boolean {
  return method !== undefined && isLiteral(path ?? "") && address !== "*"
}

/** What `explanations` is asked about it. */
export function questionOf({ workload, caller, address, method, path }: ObservedCall): object {
  return {
    workload,
    request: {
      ...(caller === undefined ? (address === undefined ? {} : { ip: address }) : { from: principalOf(caller) }),
      ...{ method, path: path ?? "/" },
    },
  }
}

/** The page with the denied calls like it. */
export function trafficOf({ workload, path }: ObservedCall): string {
  const like = path === undefined || !isLiteral(path) ? {} : { path }
  return `/traffic?${new URLSearchParams({ verdict: "deny", workload: `${workload}*`, ...like }).toString()}`
}

function isLiteral(path: string): boolean {
  return !/[{*]/.test(path)
}
