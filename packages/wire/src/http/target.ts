// SPDX-License-Identifier: Apache-2.0
// Parses the forms of a request target (RFC 9112 section 3.2) into a host and the origin form that policies and the
// application see. A host in the target overrides the Host header, as section 3.2.2 requires.

import { VISIBLE } from "./characters.js"

export interface RequestTarget {
  /** In origin form, or `*`. */
  readonly target: string
  /** Undefined if the target has no host, so that the Host header counts. */
  readonly host: string | undefined
  /** Undefined if the target is not in absolute form. */
  readonly scheme: "http" | "https" | undefined
}

/** Undefined if the target has none of the forms that are valid for the method. */
export function parseTarget(method: string, written: string): RequestTarget | undefined {
  for (let at = 0; at < written.length; at++) {
    if (VISIBLE[written.charCodeAt(at)] !== 1) return undefined
  }
  if (method === "CONNECT") return parseAuthority(written)
  if (written.startsWith("/")) return { target: written, host: undefined, scheme: undefined }
  if (written === "*") return method === "OPTIONS" ? { target: written, host: undefined, scheme: undefined } : undefined
  const prefix = /^http(s?):\/\//i.exec(written)
  if (prefix === null) return undefined
  const scheme = prefix[1] === "" ? "http" : "https"
  const rest = written.slice(prefix[0].length)
  const end = rest.search(/[/?]/)
  const host = end < 0 ? rest : rest.slice(0, end)
  // RFC 9110 section 4.2.1: an http URI without a host is invalid. `isHost` rejects user names and fragments.
  if (host === "" || !isHost(host)) return undefined
  const path = end < 0 ? "" : rest.slice(end)
  if (path.startsWith("/")) return { target: path, host, scheme }
  // RFC 9112 section 3.2.4: OPTIONS without a path is about the whole server.
  if (path === "" && method === "OPTIONS") return { target: "*", host, scheme }
  return { target: `/${path}`, host, scheme }
}

/** RFC 9112 section 3.2.3: CONNECT names a host and a port, and nothing else. */
function parseAuthority(written: string): RequestTarget | undefined {
  const isAuthority = isHost(written) && /[^:]:[0-9]+$/.test(written)
  return isAuthority ? { target: "", host: written, scheme: undefined } : undefined
}

const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+;=%]*)(?::[0-9]{0,5})?$/

/** `uri-host [ ":" port ]`. A comma is valid in a name but rejected, because it would look like two hosts. */
export function isHost(value: string): boolean {
  return HOST.test(value)
}
