// SPDX-License-Identifier: Apache-2.0
// Calls one admission webhook over HTTPS and reads its verdict. A failed call throws a WebhookFailure with
// kube-apiserver's wording.

import { rootCertificates } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { Agent } from "undici"
import { messageOf } from "../message-of.js"
import { asArray, asObject, asString, isObject, type Json, type JsonObject } from "../value.js"
import { JsonSyntaxError, parseJson, stringify } from "../wire/json.js"

export class WebhookFailure extends Error {}
export class UndecodablePatch extends Error {}

export interface Verdict {
  readonly allowed: boolean
  readonly status: JsonObject
  readonly warnings: string[]
  readonly patch: Json[] | undefined
}

const MAX_ANSWER = 3 * 1024 * 1024
const agents = new Map<string, Agent>()
const MAX_AGENTS = 100

function agentFor(caBundle: string, serverName: string | undefined): Agent {
  const key = `${serverName ?? ""}|${caBundle}`
  let agent = agents.get(key)
  if (agent === undefined) {
    if (agents.size >= MAX_AGENTS) {
      for (const old of agents.values()) void old.close()
      agents.clear()
    }
    const ca = caBundle === "" ? [...rootCertificates] : Buffer.from(caBundle, "base64").toString()
    agent = new Agent({
      connect: { ...TLS_FLOOR, ca, ...(serverName === undefined ? {} : { servername: serverName }), timeout: 10_000 },
      keepAliveTimeout: 10_000,
    })
    agents.set(key, agent)
  }
  return agent
}

export async function closeAgents(): Promise<void> {
  const all = [...agents.values()]
  agents.clear()
  await Promise.all(all.map(agent => agent.destroy()))
}

export interface Target {
  readonly url: string
  readonly caBundle: string
  readonly serverName?: string
}

export async function callWebhook(
  target: Target,
  review: JsonObject,
  timeoutSeconds: number,
  reviewVersion: string,
): Promise<Verdict> {
  const full = `${target.url}${target.url.includes("?") ? "&" : "?"}timeout=${timeoutSeconds}s`
  const { status, text } = await post(target, full, stringify(review), timeoutSeconds)
  if (status === 404) fail("the server could not find the requested resource")
  if (status < 200 || status > 299) fail(`an error on the server ("unknown") has prevented the request from succeeding`)
  if (text === "") fail(`0-length response with status code: ${status} and content type: application/json`)
  return readVerdict(text, reviewVersion, asString(asObject(review.request).uid))
}

/**
 * A webhook must accept the same request twice. If the connection breaks during the response, as when one of several
 * replicas behind an address stops, the request is sent once more and another replica answers.
 */
async function post(target: Target, url: string, body: string, timeoutSeconds: number): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1000)
  try {
    return await send(target, url, body, signal).catch((error: unknown) => {
      if (!isTakenAway(error)) throw error
      return send(target, url, body, signal)
    })
  } catch (error) {
    if (error instanceof WebhookFailure) throw error
    return fail(`Post ${JSON.stringify(url)}: ${networkError(error, url)}`)
  }
}

interface Answer {
  readonly status: number
  readonly text: string
}

async function send(target: Target, url: string, body: string, signal: AbortSignal): Promise<Answer> {
  const { origin, pathname, search } = new URL(url)
  const answer = await agentFor(target.caBundle, target.serverName).request({
    origin,
    path: `${pathname}${search}`,
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, */*",
      "user-agent": "kube-apiserver-admission",
    },
    body,
    signal,
  })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer.body) {
    size += (chunk as Buffer).length
    if (size > MAX_ANSWER) fail("expected webhook response to be less than or equal to 3 MiB")
    chunks.push(chunk as Buffer)
  }
  return { status: answer.statusCode, text: Buffer.concat(chunks).toString() }
}

function fail(message: string): never {
  throw new WebhookFailure(`failed to call webhook: ${message}`)
}

function isTakenAway(error: unknown): boolean {
  return ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes((error as { code?: string }).code ?? "")
}

function networkError(error: unknown, url: string): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = (cause as { code?: string }).code ?? ""
  const { hostname, port } = new URL(url)
  if (error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError"))
    return "context deadline exceeded"
  if (code === "ECONNREFUSED") return `dial tcp ${hostname}:${port || "443"}: connect: connection refused`
  if (code === "ENOTFOUND") return `dial tcp: lookup ${hostname}: no such host`
  if (/^(UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|CERT_)/.test(code))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match ${hostname}`
  if (code === "UND_ERR_SOCKET") return "EOF"
  return messageOf(cause)
}

/** The failure policy does not apply: the webhook has responded and wanted to change the object. */
function readPatch(patch: string): Json[] {
  try {
    const { value } = parseJson(Buffer.from(patch, "base64").toString())
    if (Array.isArray(value)) return value
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
  }
  throw new UndecodablePatch("response.patch is no JSON patch in base64")
}

function readVerdict(text: string, reviewVersion: string, uid: string): Verdict {
  const wrong = (message: string): never => {
    throw new WebhookFailure(`received invalid webhook response: ${message}`)
  }
  let value: Json
  try {
    value = parseJson(text).value
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    // kube-apiserver would parse the response as YAML next, where plain text is a string.
    return fail(
      `couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    )
  }
  const answer = asObject(value)
  const apiVersion = asString(answer.apiVersion)
  const kind = asString(answer.kind)
  if (apiVersion === "" && kind === "")
    wrong(`expected webhook response of ${reviewVersion}, Kind=AdmissionReview, got /, Kind=`)
  if (kind !== "AdmissionReview")
    fail(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:74"`,
    )
  if (apiVersion !== reviewVersion)
    wrong(`expected webhook response of ${reviewVersion}, Kind=AdmissionReview, got ${apiVersion}, Kind=${kind}`)
  const response = answer.response
  if (!isObject(response)) return wrong("webhook response was absent")
  // Reject a response to another request, as from a cache or a confused server.
  if (reviewVersion.endsWith("/v1") && asString(response.uid) !== uid)
    wrong(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(asString(response.uid))}`)
  const patch = asString(response.patch)
  const patchType = asString(response.patchType)
  if (patch !== "" && patchType === "" && reviewVersion.endsWith("/v1"))
    wrong("webhook returned response.patch but not response.patchType")
  if (patch === "" && patchType !== "" && reviewVersion.endsWith("/v1"))
    wrong("webhook returned response.patchType but not response.patch")
  let operations: Json[] | undefined
  if (patch !== "") {
    operations = readPatch(patch)
    if (operations.length > 0 && patchType !== "JSONPatch" && patchType !== "")
      wrong(`webhook returned invalid response.patchType of ${patchType}`)
  }
  return {
    allowed: response.allowed === true,
    status: asObject(response.status),
    warnings: asArray(response.warnings).filter((item): item is string => typeof item === "string"),
    patch: operations,
  }
}
