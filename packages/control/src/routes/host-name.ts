// SPDX-License-Identifier: Apache-2.0
// The spellings of a host. A Service has four: `web` in its own namespace, `web.app`, `web.app.svc` and the full name;
// every other host has one. Pure: whether a Service exists is decided elsewhere.

import { parseIp } from "@merlon/policy/request"

function serviceHost(name: string, namespace: string, clusterDomain: string): string {
  return `${name}.${namespace}.svc.${clusterDomain}`
}

/**
 * The names that a host may mean, most likely first. Only two labels are ambiguous: `web.app` is the Service if there
 * is one, otherwise an external name such as `example.com`.
 */
export function hostCandidates(text: string, namespace: string, clusterDomain: string): readonly [string, ...string[]] {
  const host = text.toLowerCase().replace(/\.$/, "")
  if (parseIp(host) !== undefined) return [host]
  const labels = host.split(".")
  if (labels.length === 1) return [serviceHost(host, namespace, clusterDomain)]
  if (labels.length === 2) return [`${host}.svc.${clusterDomain}`, host]
  if (labels.length === 3 && labels[2] === "svc") return [`${host}.${clusterDomain}`]
  return [host]
}

/** The shorter spellings of a Service's full name, shortest first; none for other hosts. */
export function hostAliases(host: string, clusterDomain: string): readonly string[] {
  const suffix = `.svc.${clusterDomain}`
  if (!host.endsWith(suffix)) return []
  const [name, namespace, ...rest] = host.slice(0, -suffix.length).split(".")
  if (name === undefined || namespace === undefined || rest.length > 0) return []
  return [name, `${name}.${namespace}`, `${name}.${namespace}.svc`]
}

export interface Authority {
  readonly host: string
  readonly port: number | undefined
}

const MAX_AUTHORITY = 512
const PORT = /^[1-9]\d{0,4}$/

/** Parses `host:port`, `host` or `[address]:port`. Undefined for anything else. */
export function parseAuthority(text: string): Authority | undefined {
  if (text.length === 0 || text.length > MAX_AUTHORITY) return undefined
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(.*))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined) return undefined
  if (port === undefined) return { host, port: undefined }
  if (!PORT.test(port) || Number(port) > 65_535) return undefined
  return { host, port: Number(port) }
}

export function authorityOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}
