// SPDX-License-Identifier: Apache-2.0
// A line for the shell that sends a witness: curl for what anybody can send, xclient where an identity of the mesh calls.
// What no line can say (an address, a token of an issuer whose keys we do not have) stands in capitals or behind a `#`.

import type { ProofWorkload, Witness } from "@merlon/policy"
import { shellWord } from "../../local/shell-word.js"

export function callLine(witness: Witness, workloads: readonly ProofWorkload[]): string {
  const line = witness.protocol === "tcp" ? tcpLine(witness) : httpLine(witness, workloads)
  const remarks = remarksOf(witness)
  return remarks.length === 0 ? line : `${line}  # ${remarks.join("; ")}`
}

function tcpLine({ principal, host, port }: Witness): string {
  const target = `${host ?? "ADDRESS"} ${port}`
  return principal === undefined
    ? `nc ${target}`
    : `openssl s_client -connect ADDRESS:${port} -cert CERTIFICATE -key KEY`
}

function httpLine(witness: Witness, workloads: readonly ProofWorkload[]): string {
  const { principal, method = "GET", path = "/", host, port, token } = witness
  const place: readonly string[] = token === undefined ? [] : JSON.parse(token.place)
  const [kind, name = "", prefix = ""] = place
  const query = kind === "param" ? `?${name}=$TOKEN` : ""
  const lines = Object.entries(witness.headers ?? {}).flatMap(([header, values]) =>
    values.map(value => `${header}: ${value}`),
  )
  if (kind === "header") lines.push(`${name}: ${prefix}$TOKEN`)
  if (kind === "cookie") lines.push(`cookie: ${name}=$TOKEN`)
  if (principal === undefined) {
    const url = `http://${host ?? `ADDRESS:${port}`}${path}${query}`
    const headers = lines.flatMap(line => ["-H", quoted(line)])
    return ["curl", "-i", ...(method === "GET" ? [] : ["-X", shellWord(method)]), ...headers, quoted(url)].join(" ")
  }
  const [, , namespace = "", , account = ""] = principal.split("/")
  const caller = workloads.find(one => one.namespace === namespace && one.serviceAccount === account)?.name ?? account
  const headers = lines.flatMap(line => ["--header", quoted(line)])
  const options = [
    "--host",
    quoted(host ?? `ADDRESS:${port}`),
    "--method",
    shellWord(method),
    "--path",
    quoted(path + query),
  ]
  return [
    "merlonctl exec",
    shellWord(caller),
    "-n",
    shellWord(namespace),
    "-- xclient",
    ...options,
    ...headers,
    "1",
  ].join(" ")
}

/** Double quotes where the shell is to put the token in. */
function quoted(text: string): string {
  if (!text.includes("$TOKEN")) return shellWord(text)
  return `"${text.replaceAll(/["\\`]/g, "\\$&")}"`
}

function remarksOf({
  principal,
  sourceIp,
  remoteIp,
  destinationIp,
  sni,
  port,
  host,
  protocol,
  token,
}: Witness): readonly string[] {
  const remarks: string[] = []
  if (principal !== undefined) remarks.push(`as ${principal}`)
  if (token !== undefined) {
    const by = token.key === undefined ? "that no named key signs" : "that is good"
    remarks.push(`TOKEN is one ${by}, with ${JSON.stringify(token.claims)}${token.expires ? "" : " and no exp"}`)
  }
  if (sourceIp !== "10.0.0.9") remarks.push(`from ${sourceIp}`)
  if (remoteIp !== undefined && remoteIp !== "198.51.100.7") remarks.push(`for the client ${remoteIp}`)
  if (destinationIp !== "10.0.0.1") remarks.push(`to ${destinationIp}`)
  if (sni !== undefined) remarks.push(`with SNI ${sni}`)
  if (protocol === "http" && host === undefined) remarks.push("without a Host (HTTP/1.0)")
  remarks.push(`to port ${port} of the workload`)
  return remarks
}
