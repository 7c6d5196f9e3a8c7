// SPDX-License-Identifier: Apache-2.0
// Calls from the access log of a workload's Envoy: JSON, one entry per line. Any caller of the workload controls parts
// of a line. A line that cannot be used is reported with its number and skipped; it does not stop the others.

import { CallSet, type ObservedCall, PathTemplates } from "@merlon/policy/ledger"
import { type EnvoyLine, RequestDescriptionError, readEnvoyLine } from "@merlon/policy/trial"
import { CommandError } from "../exit.js"
import { visible } from "../terminal.js"

/** A suggestion from more distinct calls than this would be unreadable. */
const MAX_SHAPES = 20_000
const MAX_TOLD = 5

/**
 * `workload`: the workload whose log it is, as `namespace/name` of its Pods' owner. `note` gets one line for each
 * skipped line.
 */
export function callsInLog(
  text: string,
  name: string,
  workload: string,
  note: (text: string) => void,
): readonly ObservedCall[] {
  const calls = new CallSet(MAX_SHAPES)
  const templates = new PathTemplates()
  let [lines, skipped] = [0, 0]
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    lines++
    const call = callIn(line, workload, templates)
    if (typeof call === "object") calls.add(call)
    else if (call !== OUTBOUND && ++skipped <= MAX_TOLD) note(`${name}:${index + 1}: skipped: ${visible(call)}`)
  }
  if (skipped > MAX_TOLD) note(`${name}: ${skipped - MAX_TOLD} more lines are skipped`)
  if (calls.forgotten > 0) note(`${name}: ${calls.forgotten} kinds of calls are left out, because there are too many`)
  if (skipped === lines) {
    throw new CommandError("unreadable-file", `\`${name}\` has no line of Envoy's access log that can be used`)
  }
  return [...calls.values()]
}

const OUTBOUND = "a call that the workload made"

/** The call, or the reason why the line is skipped. */
function callIn(line: string, workload: string, templates: PathTemplates): ObservedCall | string {
  let read: EnvoyLine | undefined
  try {
    read = readEnvoyLine(line)
  } catch (error) {
    if (!(error instanceof RequestDescriptionError)) throw error
    return error.message
  }
  if (read === undefined) return "it is no line of Envoy's access log"
  const { direction, protocol, method, path, port, source, peer, sni, verdict, time } = read
  if (direction === "outbound") return OUTBOUND
  if (verdict === undefined) return "it does not tell whether the request was allowed"
  if (port === undefined || time === undefined) return "it has no `downstream_local_address` or no `start_time`"
  // Proxies of the mesh call this server name. Without the identity, the call would look like plaintext.
  if (peer === undefined && sni?.startsWith("outbound_.") === true)
    return "it does not tell the caller's identity; add `downstream_peer_uri_san: %DOWNSTREAM_PEER_URI_SAN%` to `accessLogFormat`"
  const [target] = path?.split("?") ?? []
  return {
    ...(peer === undefined ? (source === undefined ? {} : { address: source }) : { caller: peer }),
    workload,
    port,
    protocol,
    ...(method !== undefined && { method }),
    ...(target !== undefined && { path: templates.of(target) }),
    tls: peer !== undefined,
    verdict,
    stage: "allow",
    firstSeen: time,
    lastSeen: time,
    count: 1,
  }
}
