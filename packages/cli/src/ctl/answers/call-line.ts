// SPDX-License-Identifier: Apache-2.0
// A shell command that sends the request of a witness: curl if any client can send it, xclient if the caller has a mesh
// identity, and curl in a Pod if the mesh is Istio. A gRPC call is sent by grpcurl instead of curl. Placeholders in
// capitals and `#` comments stand for what no command can set: an address, or a token of an issuer whose keys we do not
// have.

import type { MeshNames } from "@merlon/policy/mesh"
import { identityOf, type ProofWorkload, type Witness, type WitnessToken } from "@merlon/policy/proof"
import { shellWord } from "../../shell-word.js"
import { isIstio } from "./dialect.js"

export function callLine(witness: Witness, workloads: readonly ProofWorkload[], names: MeshNames): string {
  const caller = callerOf(witness, workloads)
  const line = witness.protocol === "tcp" ? tcpLine(witness) : httpLine(witness, caller, isIstio(names))
  const remarks = remarksOf(witness, caller, isIstio(names))
  return remarks.length === 0 ? line : `${line}  # ${remarks.join("; ")}`
}

const NOBODY = ", under which nothing runs"

interface Caller {
  readonly principal: string
  readonly namespace: string
  /** Undefined if no workload runs under that identity. */
  readonly name: string | undefined
}

/** Undefined for plaintext, which any caller can send. */
function callerOf({ principal }: Witness, workloads: readonly ProofWorkload[]): Caller | undefined {
  if (principal === undefined) return undefined
  const [trustDomain = "", , namespace = ""] = principal.split("/")
  const names = workloads.filter(one => identityOf(one, trustDomain) === principal).map(({ name }) => name)
  return { principal, namespace, name: names.sort()[0] }
}

function tcpLine({ principal, host, port }: Witness): string {
  const target = `${host ?? "ADDRESS"} ${port}`
  return principal === undefined
    ? `nc ${target}`
    : `openssl s_client -connect ADDRESS:${port} -cert CERTIFICATE -key KEY`
}

function httpLine(witness: Witness, caller: Caller | undefined, isInIstio: boolean): string {
  const { method = "GET", path = "/", host, port } = witness
  const lines = Object.entries(witness.headers ?? {}).flatMap(([header, values]) =>
    values.map(value => shellWord(`${header}: ${value}`)),
  )
  const params: string[] = []
  for (const { token, variable } of tokensOf(witness)) {
    const [kind, name = "", prefix = ""]: readonly string[] = JSON.parse(token.place)
    if (kind === "header") lines.push(`"${quotable(`${name}: ${prefix}`)}$${variable}"`)
    else if (kind === "cookie") lines.push(`"${quotable(`cookie: ${name}=`)}$${variable}"`)
    else params.push(`${quotable(`${encodeURIComponent(name)}=`)}$${variable}`)
  }
  const target = (before: string): string =>
    params.length === 0 ? shellWord(before) : `"${quotable(before)}?${params.join("&")}"`
  const at = host ?? `ADDRESS:${port}`
  if (caller === undefined || isInIstio) {
    // Istio's sidecar reads the client address from this header. Without it, the caller is the client.
    if (isInIstio && witness.remoteIp !== undefined && witness.remoteIp !== witness.sourceIp)
      lines.push(shellWord(`x-forwarded-for: ${witness.remoteIp}`))
    const headers = lines.flatMap(line => ["-H", line])
    const options = [...(method === "GET" ? [] : ["-X", shellWord(method)]), ...headers]
    const within = caller === undefined ? [] : ["kubectl exec -n", shellWord(caller.namespace), "POD --"]
    if (isGrpc(witness) && params.length === 0) {
      // grpcurl sets the content type itself, and takes the authority from the address.
      const sent = lines.filter(line => !line.includes("content-type: ")).flatMap(line => ["-H", line])
      return [...within, "grpcurl", "-plaintext", ...sent, shellWord(withPort(at)), shellWord(path.slice(1))].join(" ")
    }
    return [...within, "curl", "-i", ...options, target(`http://${at}${path}`)].join(" ")
  }
  const headers = lines.flatMap(line => ["--header", line])
  const options = ["--host", shellWord(at), "--method", shellWord(method), "--path", target(path), ...headers]
  const as = caller.name === undefined ? "WORKLOAD" : shellWord(caller.name)
  return ["merlonctl exec", as, "-n", shellWord(caller.namespace), "-- xclient", ...options, "1"].join(" ")
}

/** Whether it is a gRPC call: a POST of gRPC's content type to `/PACKAGE.SERVICE/METHOD`. */
function isGrpc({ method, path = "", headers }: Witness): boolean {
  const [type = "", ...others] = headers?.["content-type"] ?? []
  const isCall = /^\/[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/.test(path)
  return method === "POST" && isCall && others.length === 0 && /^application\/grpc(\+proto)?$/.test(type)
}

const withPort = (host: string): string => (/:\d+$/.test(host) ? host : `${host}:80`)

function tokensOf({ token, secondToken }: Witness): readonly { token: WitnessToken; variable: string }[] {
  const named = [
    { token, variable: "TOKEN" },
    { token: secondToken, variable: "TOKEN2" },
  ]
  return named.flatMap(({ token: one, variable }) => (one === undefined ? [] : [{ token: one, variable }]))
}

/** Escapes text for double quotes, so that the shell expands only the token: authors of policies choose the rest. */
const quotable = (text: string): string => text.replaceAll(/["\\`$]/g, "\\$&")

function remarksOf(witness: Witness, caller: Caller | undefined, isInIstio: boolean): readonly string[] {
  const { sourceIp, remoteIp, destinationIp, sni, port, host, protocol } = witness
  const remarks: string[] = []
  if (caller !== undefined) remarks.push(`as ${caller.principal}${caller.name === undefined ? NOBODY : ""}`)
  for (const { token, variable } of tokensOf(witness)) {
    const kind = token.key === undefined ? "a token signed by an unknown key" : "a valid token"
    remarks.push(
      `${variable} is ${kind} with ${JSON.stringify(token.claims)}${token.expires ? "" : " and without exp"}`,
    )
  }
  if (sourceIp !== "10.0.0.9") remarks.push(`from ${sourceIp}`)
  if (!isInIstio && remoteIp !== undefined && remoteIp !== "198.51.100.7") remarks.push(`for the client ${remoteIp}`)
  if (destinationIp !== "10.0.0.1") remarks.push(`to ${destinationIp}`)
  if (sni !== undefined) remarks.push(`with SNI ${sni}`)
  if (protocol === "http" && host === undefined) remarks.push("without a Host (HTTP/1.0)")
  remarks.push(`to port ${port} of the workload`)
  return remarks
}
