// SPDX-License-Identifier: Apache-2.0
// Parses a line of Envoy's access log as Istio writes it, in Istio's default text format or as JSON. Callers control some
// fields, so every field is checked and a line that does not fit is an error. It has identities only if the mesh's
// `accessLogFormat` includes `%DOWNSTREAM_PEER_URI_SAN%`.

import { isObject } from "../resources/field.js"
import { RequestDescriptionError } from "./request-description-error.js"

export interface EnvoyLine {
  /** `outbound`: the caller's proxy wrote the line. */
  readonly direction: "inbound" | "outbound"
  readonly protocol: "http" | "tcp"
  readonly method: string | undefined
  readonly path: string | undefined
  readonly host: string | undefined
  /** The workload's own port. */
  readonly port: number | undefined
  readonly source: string | undefined
  readonly destination: string | undefined
  /** The SPIFFE ID of the peer. */
  readonly peer: string | undefined
  readonly sni: string | undefined
  readonly status: number | undefined
  /** The proxy's decision; undefined if the line does not show it. */
  readonly verdict: "allow" | "deny" | undefined
  /** The rule that denied the request, or `none` if no ALLOW rule matched; undefined if the line names none. */
  readonly rule: string | undefined
  /** The headers in Istio's formats, in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** Milliseconds since the epoch. */
  readonly time: number | undefined
}

/** A proxy with Envoy's limits on headers writes no longer lines. */
const MAX_LINE = 256 << 10

/** Undefined for a line of another kind; throws `RequestDescriptionError` if it is Envoy's and cannot be used. */
export function readEnvoyLine(line: string): EnvoyLine | undefined {
  if (line.length > MAX_LINE) throw new RequestDescriptionError(`the line has more than ${MAX_LINE} characters`)
  const fields = /^\[\d/.test(line) ? fieldsOfText(line) : fieldsOfJson(line)
  return fields && lineOf(fields)
}

type Fields = ReadonlyMap<string, string>

/** The fields read from Istio's default text format, by their names in its JSON format. */
const TEXT_FORMAT = new RegExp(
  [
    String.raw`^\[(?<start_time>[^\]]{1,40})\] "(?<method>\S+) (?<path>\S+) (?<protocol>\S+)"`,
    String.raw`(?<response_code>\d+) (?<response_flags>\S+) (?<response_code_details>\S+)`,
    String.raw`(?<connection_termination_details>\S+) "[^"]*" \d+ \d+ \d+ \S+`,
    '"(?<x_forwarded_for>[^"]*)" "(?<user_agent>[^"]*)" "[^"]*"',
    String.raw`"(?<authority>[^"]*)" "[^"]*" (?<upstream_cluster>\S+) \S+`,
    String.raw`(?<downstream_local_address>\S+) (?<downstream_remote_address>\S+) (?<requested_server_name>\S+) \S+$`,
  ].join(" "),
)

function fieldsOfText(line: string): Fields {
  const found = TEXT_FORMAT.exec(line.trimEnd())?.groups
  if (found === undefined) {
    throw new RequestDescriptionError(
      "the line is not in Istio's default format; write the log as JSON with `accessLogEncoding: JSON`",
    )
  }
  return new Map(Object.entries(found).filter(([, value]) => value !== "-"))
}

/** Undefined if the line is not JSON, or has none of the fields that only Envoy writes. */
function fieldsOfJson(line: string): Fields | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isObject(value) || !("response_code" in value || "downstream_local_address" in value)) return undefined
  const fields = new Map<string, string>()
  for (const [name, field] of Object.entries(value)) {
    if (field === null || field === "-" || field === "") continue
    // Depending on its version, Envoy writes numbers as numbers or as text.
    if (typeof field === "string" || typeof field === "number") fields.set(name, String(field))
    else if (READ.has(name)) throw new RequestDescriptionError(`the field \`${name}\` is neither text nor a number`)
  }
  return fields
}

const READ: ReadonlySet<string> = new Set([
  ...["start_time", "method", "path", "protocol", "response_code", "response_code_details", "authority"],
  ...["connection_termination_details", "upstream_cluster", "downstream_local_address", "downstream_remote_address"],
  ...["requested_server_name", "downstream_peer_uri_san", "x_forwarded_for", "user_agent"],
])

const HEADERS = { "x-forwarded-for": "x_forwarded_for", "user-agent": "user_agent" } as const

function lineOf(fields: Fields): EnvoyLine {
  const [destination, port] = addressIn(fields, "downstream_local_address")
  const [source] = addressIn(fields, "downstream_remote_address")
  const method = fields.get("method")
  const status = numberIn(fields, "response_code", 0, 999)
  const time = Date.parse(fields.get("start_time") ?? "")
  return {
    direction: fields.get("upstream_cluster")?.startsWith("outbound|") === true ? "outbound" : "inbound",
    protocol: method === undefined ? "tcp" : "http",
    method,
    path: fields.get("path"),
    host: fields.get("authority"),
    port,
    source,
    destination,
    // Several values are separated by commas; a certificate of the mesh has one.
    peer: fields.get("downstream_peer_uri_san")?.split(",")[0],
    sni: fields.get("requested_server_name"),
    status: status === 0 ? undefined : status,
    verdict: verdictIn(fields, status),
    rule: /^rbac_access_denied_matched_policy\[(.+)\]$/.exec(fields.get("response_code_details") ?? "")?.[1],
    headers: Object.fromEntries(
      Object.entries(HEADERS).flatMap(([name, field]) => {
        const value = fields.get(field)
        return value === undefined ? [] : [[name, value]]
      }),
    ),
    time: Number.isNaN(time) ? undefined : time,
  }
}

/**
 * Recognises rejections by the names of Envoy's filters; other replies are the application's, after the proxy allowed
 * the request.
 */
function verdictIn(fields: Fields, status: number | undefined): EnvoyLine["verdict"] {
  const details = fields.get("response_code_details") ?? fields.get("connection_termination_details") ?? ""
  if (/^(rbac_access_denied|jwt_authn_access_denied|ext_authz_denied|ext_authz_error)/.test(details)) return "deny"
  if (details === "via_upstream") return "allow"
  return status === 401 || status === 403 || details === "" ? undefined : "allow"
}

/** `10.0.0.1:8080`, `[::1]:8080`. */
function addressIn(fields: Fields, name: string): readonly [address: string | undefined, port: number | undefined] {
  const text = fields.get(name)
  if (text === undefined) return [undefined, undefined]
  const { address, port } = /^\[?(?<address>[0-9a-fA-F:.]+)\]?:(?<port>\d{1,5})$/.exec(text)?.groups ?? {}
  if (address === undefined || Number(port) > 65_535)
    throw new RequestDescriptionError(`the field \`${name}\` is no address and port`)
  return [address, Number(port)]
}

function numberIn(fields: Fields, name: string, least: number, most: number): number | undefined {
  const text = fields.get(name)
  if (text === undefined) return undefined
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new RequestDescriptionError(`the field \`${name}\` is no number from ${least} to ${most}`)
}
