// SPDX-License-Identifier: Apache-2.0
// The answers of the OpenID Authorization API 1.0 (AuthZEN), in ASCII. A denial is an answer with status 200. Pure.

import type { FieldPairs, LocalReply } from "@merlon/wire/http"
import { headersOf, type RequestChanges } from "./answer.js"
import {
  ACTION_SEARCH_PATH,
  type EntitySearch,
  EVALUATION_PATH,
  EVALUATIONS_PATH,
  pageToken,
  RESOURCE_SEARCH_PATH,
  SUBJECT_SEARCH_PATH,
} from "./authzen.js"

export interface EvaluationAnswer {
  readonly decision: boolean
  readonly context?: Readonly<Record<string, unknown>>
}

/** What the caller of the API has to change in the request before it forwards it. */
export function permission({ setHeaders, removeHeaders, removeParameters }: RequestChanges): EvaluationAnswer {
  const context = {
    ...(setHeaders.length > 0 && { set_headers: namedValues(setHeaders) }),
    ...(removeHeaders.length > 0 && { remove_headers: removeHeaders }),
    ...(removeParameters.length > 0 && { remove_parameters: removeParameters }),
  }
  return Object.keys(context).length === 0 ? { decision: true } : { decision: true, context }
}

/** A denial, with the response that a proxy would send. */
export function denial(reply: LocalReply): EvaluationAnswer {
  const { status, body: reason } = reply
  return { decision: false, context: { status, reason, headers: namedValues(headersOf(reply)) } }
}

function namedValues(fields: FieldPairs) {
  return fields.map(([name, value]) => ({ name, value: Buffer.from(value, "latin1").toString("utf8") }))
}

export function evaluationsReply(answers: readonly EvaluationAnswer[], isBatch: boolean): LocalReply {
  return json(isBatch ? { evaluations: answers } : answers[0])
}

/** Lists the allowed methods. */
export function actionsReply(methods: readonly string[]): LocalReply {
  return json({ results: methods.map(name => ({ name })) })
}

/** Lists the allowed subjects or resources. `last`: the candidate after which the next page begins, if there is one. */
export function entitiesReply({ type, properties }: EntitySearch, ids: readonly string[], last?: string): LocalReply {
  const results = ids.map(id => ({ type, id, ...(properties !== undefined && { properties }) }))
  return json({ results, page: { next_token: pageToken(last), count: ids.length } })
}

/**
 * "Policy Decision Point Metadata" of the standard. `origin`: scheme and authority through which the caller reached
 * this server.
 */
export function metadataReply(origin: string): LocalReply {
  return json({
    policy_decision_point: origin,
    access_evaluation_endpoint: `${origin}${EVALUATION_PATH}`,
    access_evaluations_endpoint: `${origin}${EVALUATIONS_PATH}`,
    search_subject_endpoint: `${origin}${SUBJECT_SEARCH_PATH}`,
    search_resource_endpoint: `${origin}${RESOURCE_SEARCH_PATH}`,
    search_action_endpoint: `${origin}${ACTION_SEARCH_PATH}`,
  })
}

function json(value: unknown): LocalReply {
  const body = JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
  return { status: 200, body, contentType: "application/json", fields: [] }
}
