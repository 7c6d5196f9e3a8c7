// SPDX-License-Identifier: Apache-2.0
// Rejects responses that are not the API's. A proxy in front of an API, or in its place, may respond 200 with JSON of
// its own. Read as an empty list, that would make the command report "nothing found" or "reaches nothing (proved)"
// without having read anything.

import { type Api, ApiError, type ApiRequest, statusError } from "@merlon/control/kubernetes"
import { type Fields, fieldsOf, textOf } from "../foreign.js"

const DISCOVERY = /^API(Versions|Group|GroupList|ResourceList)$/

export function onlyAnswers(api: Api): Api {
  return {
    request: async request => answerTo(request, await api.request(request)),
    lines: (request, signal) => api.lines(request, signal),
    close: () => api.close(),
  }
}

/** Returns the response if it has the kind that the request asks for. Fail closed: only `/version` may have no kind. */
export function answerTo(request: ApiRequest, answer: unknown): unknown {
  if (request.path === "/version") return answer
  const fields = fieldsOf(answer)
  const kind = textOf(fields.kind) ?? ""
  if (kind === "Status" && fields.status === "Failure") throw statusError(0, answer)
  if (!isWhole(request, kind, fields)) {
    throw ApiError.unanswered(
      "api-bad-response",
      "the API server answered something else than it was asked for; is that the right address?",
    )
  }
  return answer
}

function isWhole({ method }: ApiRequest, kind: string, { metadata, items }: Fields): boolean {
  if (kind === "") return false
  if (DISCOVERY.test(kind) || kind === "Table") return true
  // Go writes an empty list as null.
  if (items !== undefined) return items === null || (Array.isArray(items) && items.every(isObject))
  // A deletion returns a status, and reviews have no name.
  if (method === "DELETE" || method === "POST") return true
  return textOf(fieldsOf(metadata).name) !== undefined
}

function isObject(item: unknown): boolean {
  return textOf(fieldsOf(fieldsOf(item).metadata).name) !== undefined
}
