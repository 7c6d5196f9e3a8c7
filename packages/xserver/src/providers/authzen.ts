// SPDX-License-Identifier: Apache-2.0
// OpenID Authorization API 1.0 (AuthZEN): one evaluation per request, in the format that `merlond authorizer` reads.
// Only status 200 is an answer. Its `context` may name headers in the same way as that program does; everything else in
// it is ignored.

import { type JsonObject, parseUnambiguousJsonObject } from "@merlon/policy/tokens"
import type { FieldPairs } from "@merlon/wire/http"
import { allowance, denial, failed } from "./answer.js"
import type { ProviderProtocol } from "./protocol.js"
import { sentHeaders } from "./question.js"

const EVALUATION_PATH = "/access/v1/evaluation"
const JSON_CONTENT = /^application\/json\s*(;|$)/i

export const authzenProtocol: ProviderProtocol = {
  ask(question, provider) {
    const { http, connection, requestId } = question
    const { peer, sourceIp } = connection
    const asked = {
      subject: {
        type: peer === undefined ? "anonymous" : "workload",
        id: peer?.uri ?? "",
        properties: { ip_address: sourceIp.text },
      },
      action: { name: http.method },
      resource: {
        type: "http",
        id: inAscii(`${http.path}${http.query}`),
        properties: { host: http.host ?? "", scheme: http.scheme },
      },
      context: { headers: byName(sentHeaders(question, provider)) },
    }
    return {
      method: "POST",
      target: `${provider.pathPrefix}${EVALUATION_PATH}`,
      host: provider.address,
      headers: [
        ["content-type", "application/json"],
        ["accept", "application/json"],
        ["x-request-id", requestId],
      ],
      body: Buffer.from(JSON.stringify(asked)),
    }
  },

  answer({ status, headers, body }, provider) {
    // The standard denies with status 200: any other status means that nothing was decided.
    if (status >= 400) return failed("error")
    const types = headers.get("content-type")
    const isJson = types?.length === 1 && JSON_CONTENT.test(types[0] ?? "")
    const document = status === 200 && isJson ? parseUnambiguousJsonObject(body) : undefined
    if (document === undefined) return failed("malformed")
    const { decision, context = {} } = document
    if (!isObject(context)) return failed("malformed")
    if (decision === true) {
      const { set_headers: set = [], remove_headers: removed = [], remove_parameters: parameters = [] } = context
      const written = pairsIn(set)
      const areNames = Array.isArray(removed) && removed.every(name => typeof name === "string")
      // Fail closed: an answer that would change the parameters that were judged does not allow.
      const changesParameters = !Array.isArray(parameters) || parameters.length > 0
      if (written === undefined || !areNames || changesParameters) return failed("malformed")
      return allowance(provider, written, removed)
    }
    if (decision !== false) return failed("malformed")
    const { status: shown = 0, reason, headers: denyHeaders = [] } = context
    const written = pairsIn(denyHeaders)
    if (typeof shown !== "number" || !Number.isInteger(shown) || written === undefined) return failed("malformed")
    return denial(provider, shown, typeof reason === "string" ? inBytes(reason) : "", written)
  },
}

/** Non-ASCII paths have several spellings, so their bytes are escaped. */
function inAscii(target: string): string {
  return target.replace(/[\x80-\xff]/g, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
}

function byName(headers: FieldPairs): Readonly<Record<string, readonly string[]>> {
  const lines = new Map<string, string[]>()
  for (const [name, value] of headers) {
    const text = Buffer.from(value, "latin1").toString("utf8")
    const known = lines.get(name)
    if (known === undefined) lines.set(name, [text])
    else known.push(text)
  }
  return Object.fromEntries(lines)
}

function pairsIn(value: unknown): FieldPairs | undefined {
  if (!Array.isArray(value)) return undefined
  const pairs = value.flatMap(item => {
    const { name, value: text } = isObject(item) ? item : {}
    return typeof name === "string" && typeof text === "string" ? [[name.toLowerCase(), inBytes(text)] as const] : []
  })
  return pairs.length === value.length ? pairs : undefined
}

function inBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1")
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
