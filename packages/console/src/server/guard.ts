// SPDX-License-Identifier: Apache-2.0
// Whether a request comes from the console's own page. A host name that resolves to our address does not make a page
// ours (DNS rebinding), and a page of another origin must not act for the signed-in user (CSRF).

import type { IncomingHttpHeaders } from "node:http"

const LOCAL = /^(?:localhost|[a-z0-9-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

export interface GuardOptions {
  /** Host names of the console besides this machine's own. */
  readonly hosts: readonly string[]
}

/** Undefined if the request is allowed; else the reason why not. */
export function rejection(method: string, headers: IncomingHttpHeaders, { hosts }: GuardOptions): string | undefined {
  const host = hostName(headers.host)
  if (host === undefined) return "the request has no readable Host"
  if (!LOCAL.test(host) && !hosts.includes(host)) {
    return `the console is not served under \`${host}\`; name it with --console-host if it should be`
  }
  if (headers["sec-fetch-site"] === "cross-site" && !isNavigation(method, headers)) return "another site asks"
  if (method === "GET" || method === "HEAD") return undefined
  const { origin } = headers
  return origin === undefined || isOwn(origin, headers.host, hosts) ? undefined : "another origin asks"
}

/** A proxy in front may have changed the Host header. Then only the configured host names count. */
export function isOwn(origin: string, host: string | undefined, hosts: readonly string[]): boolean {
  const requester = URL.canParse(origin) ? new URL(origin) : undefined
  return requester !== undefined && (requester.host === host || hosts.includes(requester.hostname))
}

function isNavigation(method: string, headers: IncomingHttpHeaders): boolean {
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"
}

function hostName(host: string | undefined): string | undefined {
  return /^([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/.exec(host ?? "")?.[1]?.toLowerCase()
}
