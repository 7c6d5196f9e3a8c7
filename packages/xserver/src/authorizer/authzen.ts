// SPDX-License-Identifier: Apache-2.0
// OpenID Authorization API 1.0 (AuthZEN): its endpoints, and how evaluation requests are read. Pure. A missing or
// malformed field is an error. Of the fields that decide, only the scheme has a default.

import {
  byteText,
  type IpAddress,
  parseIp,
  parseSpiffeId,
  type SpiffeId,
  withoutOuterBlanks,
} from "@merlon/policy/request"
import { type JsonObject, parseUnambiguousJsonObject } from "@merlon/policy/tokens"

const METADATA_PATH = "/.well-known/authzen-configuration"
export const EVALUATION_PATH = "/access/v1/evaluation"
export const EVALUATIONS_PATH = "/access/v1/evaluations"
export const SUBJECT_SEARCH_PATH = "/access/v1/search/subject"
export const RESOURCE_SEARCH_PATH = "/access/v1/search/resource"
export const ACTION_SEARCH_PATH = "/access/v1/search/action"

/** Each evaluation may verify a token, so one message must not ask for many of them. */
const MAX_EVALUATIONS = 100

/** The methods that an action search tries. */
const SEARCHED_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

export type AuthzenEndpoint =
  | "metadata"
  | "evaluation"
  | "evaluations"
  | "subject-search"
  | "resource-search"
  | "action-search"

/** The request to decide on. */
export interface Evaluation {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly scheme: string
  /** By lower-case name, with values of one character per byte. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** Names of headers that are strings: the values of several lines may have been joined with commas. */
  readonly joined: ReadonlySet<string>
  /** The subject, if it is a workload. */
  readonly peer: SpiffeId | undefined
  readonly address: IpAddress | undefined
}

/** A sentence for the operators of the caller. It repeats nothing that the caller sent. */
export interface Malformed {
  readonly malformed: string
}

export interface Evaluations {
  readonly items: readonly (Evaluation | Malformed)[]
  /** Whether the answer is a list. */
  readonly isBatch: boolean
  /** The decision after which the remaining items are not evaluated. */
  readonly stopAt: boolean | undefined
}

export function authzenEndpoint(path: string): AuthzenEndpoint | undefined {
  if (path === EVALUATION_PATH) return "evaluation"
  if (path === EVALUATIONS_PATH) return "evaluations"
  if (path === METADATA_PATH) return "metadata"
  if (path === SUBJECT_SEARCH_PATH) return "subject-search"
  if (path === RESOURCE_SEARCH_PATH) return "resource-search"
  return path === ACTION_SEARCH_PATH ? "action-search" : undefined
}

/** "Access Evaluation API" and "Access Evaluations API" of the standard. */
export function readEvaluations(body: Uint8Array, endpoint: "evaluation" | "evaluations"): Evaluations | Malformed {
  const document = parseUnambiguousJsonObject(body)
  if (document === undefined) return { malformed: "the body must be a JSON object without duplicate names" }
  const { evaluations = [], options = {} } = document
  if (!Array.isArray(evaluations)) return { malformed: "`evaluations` must be a list" }
  if (endpoint === "evaluation" && evaluations.length > 0)
    return { malformed: `send \`evaluations\` to ${EVALUATIONS_PATH}` }
  if (evaluations.length > MAX_EVALUATIONS)
    return { malformed: `\`evaluations\` has more than ${MAX_EVALUATIONS} entries` }
  const semantic = isObject(options) ? (options.evaluations_semantic ?? "execute_all") : undefined
  const known = SEMANTICS.find(([name]) => name === semantic)
  if (known === undefined)
    return {
      malformed: `\`options.evaluations_semantic\` must be one of ${SEMANTICS.map(([name]) => name).join(", ")}`,
    }
  const stopAt = known[1]
  if (evaluations.length > 0) {
    const items = evaluations.map(item =>
      isObject(item) ? readEvaluation({ ...document, ...item }) : { malformed: "an evaluation must be an object" },
    )
    return { items, isBatch: true, stopAt }
  }
  const item = readEvaluation(document)
  return "malformed" in item ? item : { items: [item], isBatch: false, stopAt: undefined }
}

/** "Action Search API" of the standard: one evaluation for each method that is tried. */
export function readActionSearch(body: Uint8Array): readonly Evaluation[] | Malformed {
  const document = parseUnambiguousJsonObject(body)
  if (document === undefined) return { malformed: "the body must be a JSON object without duplicate names" }
  if (document.action !== undefined) return { malformed: "leave out `action`: the response lists the actions" }
  const evaluations: Evaluation[] = []
  for (const name of SEARCHED_METHODS) {
    const evaluation = readEvaluation({ ...document, action: { name } })
    if ("malformed" in evaluation) return evaluation
    evaluations.push(evaluation)
  }
  return evaluations
}

/** A search for callers or paths. */
export interface EntitySearch {
  /** The searched type, as the message names it. */
  readonly type: string
  readonly properties: JsonObject | undefined
  /** The request with this subject or path; malformed if the id cannot be one. */
  readonly with: (id: string) => Evaluation | Malformed
  /** Whether this server knows the type: other types have no members. */
  readonly isKnown: boolean
  readonly limit: number
  /** The last candidate of the previous page. */
  readonly after: string | undefined
}

/** "Subject Search API" and "Resource Search API" of the standard. An id of the searched entity is ignored. */
export function readEntitySearch(body: Uint8Array, entity: "subject" | "resource"): EntitySearch | Malformed {
  const document = parseUnambiguousJsonObject(body)
  if (document === undefined) return { malformed: "the body must be a JSON object without duplicate names" }
  const { [entity]: searched, page = {} } = document
  if (!isObject(searched) || typeof searched.type !== "string")
    return { malformed: `\`${entity}\` must be an object with a type` }
  const { type, properties } = searched
  const paging = readPage(page)
  if ("malformed" in paging) return paging
  const isKnown = entity === "subject" ? type === "workload" || type === "anonymous" : type === "http"
  const member = (id: string) => readEvaluation({ ...document, [entity]: { ...searched, id } })
  // Reports errors in the rest of the message at once.
  const sample = isKnown ? member(SAMPLE[type] ?? "") : undefined
  if (sample !== undefined && "malformed" in sample) return sample
  return { type, properties: isObject(properties) ? properties : undefined, with: member, isKnown, ...paging }
}

/** A valid id of each type. */
const SAMPLE: Readonly<Record<string, string>> = { workload: "spiffe://a/ns/a/sa/a", anonymous: "", http: "/" }

function readPage(page: unknown): Pick<EntitySearch, "limit" | "after"> | Malformed {
  if (!isObject(page)) return { malformed: "`page` must be an object" }
  const { limit = MAX_EVALUATIONS, token = "" } = page
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1)
    return { malformed: "`page.limit` must be a whole number above 0" }
  if (typeof token !== "string" || !PAGE_TOKEN.test(token))
    return { malformed: "`page.token` must be the `next_token` of a response" }
  const after = token === "" ? undefined : Buffer.from(token, "base64url").toString("utf8")
  return { limit: Math.min(limit, MAX_EVALUATIONS), after }
}

const PAGE_TOKEN = /^[A-Za-z0-9_-]{0,10000}$/

/** "" if there is no next page. */
export function pageToken(last: string | undefined): string {
  return last === undefined ? "" : Buffer.from(last, "utf8").toString("base64url")
}

const SEMANTICS: readonly (readonly [name: string, stopAt: boolean | undefined])[] = [
  ["execute_all", undefined],
  ["deny_on_first_deny", false],
  ["permit_on_first_permit", true],
]

function readEvaluation({ subject, action, resource, context = {} }: JsonObject): Evaluation | Malformed {
  if (!isObject(subject) || !isObject(action) || !isObject(resource) || !isObject(context))
    return { malformed: "`subject`, `action` and `resource` must be objects, and `context` one if it is there" }
  const caller = readSubject(subject)
  if ("malformed" in caller) return caller
  const request = readRequest(action, resource)
  if ("malformed" in request) return request
  const headers = readHeaders(context.headers, request.host)
  return "malformed" in headers ? headers : { ...caller, ...request, ...headers }
}

/** Users are not among the types: a token in the headers authenticates a user, and the policies verify it. */
function readSubject({ type, id, properties = {} }: JsonObject): Pick<Evaluation, "peer" | "address"> | Malformed {
  if (typeof id !== "string") return { malformed: "`subject.id` must be a string" }
  if (type !== "workload" && type !== "anonymous")
    return { malformed: "`subject.type` must be `workload` or `anonymous`; send a user's token in `context.headers`" }
  if (!isObject(properties)) return { malformed: "`subject.properties` must be an object" }
  const { ip_address: ip } = properties
  const address = typeof ip === "string" ? parseIp(ip) : undefined
  if (ip !== undefined && address === undefined)
    return { malformed: "`subject.properties.ip_address` must be an IP address" }
  const peer = type === "workload" ? parseSpiffeId(id) : undefined
  if (type === "workload" && peer === undefined)
    return {
      malformed: "`subject.id` of a workload must be a SPIFFE ID, such as spiffe://cluster.local/ns/shop/sa/cart",
    }
  return { peer, address }
}

type EvaluatedRequest = Pick<Evaluation, "method" | "target" | "host" | "scheme">

function readRequest(action: JsonObject, resource: JsonObject): EvaluatedRequest | Malformed {
  const { name: method, properties: how = {} } = action
  const { type, id: target, properties = {} } = resource
  if (typeof method !== "string") return { malformed: "`action.name` must be an HTTP method" }
  if (!isObject(how) || (how.method !== undefined && how.method !== method))
    return { malformed: "`action.properties.method` must be the same as `action.name` if it is there" }
  if (type !== "http" || typeof target !== "string" || !ASCII.test(target))
    return { malformed: "`resource.type` must be `http`, and `resource.id` a path with its query, in ASCII" }
  if (!isObject(properties)) return { malformed: "`resource.properties` must be an object" }
  const { host, scheme = "http" } = properties
  if (typeof host !== "string" || typeof scheme !== "string")
    return { malformed: "`resource.properties.host` must be a string, and `scheme` one if it is there" }
  return { method, target, host, scheme }
}

function readHeaders(headers: unknown = {}, host: string): Pick<Evaluation, "headers" | "joined"> | Malformed {
  if (!isObject(headers)) return { malformed: "`context.headers` must be an object" }
  const read = new Map<string, readonly string[]>()
  const joined = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const lines = Array.isArray(value) ? value : [value]
    const isReadable = lines.every(line => typeof line === "string" && FIELD_VALUE.test(line))
    if (!FIELD_NAME.test(name) || !isReadable || lines.length === 0)
      return { malformed: "`context.headers` must have header names, and a string or a list of strings for each" }
    const lowerCase = name.toLowerCase()
    if (read.has(lowerCase)) return { malformed: "`context.headers` has one name in two spellings" }
    read.set(
      lowerCase,
      lines.map(line => byteText(withoutOuterBlanks(line))),
    )
    if (!Array.isArray(value)) joined.add(lowerCase)
  }
  // If a value is given twice, both must agree.
  if (read.get("host")?.some(line => line !== host))
    return { malformed: "`context.headers.host` must be the same as `resource.properties.host`" }
  return { headers: read, joined }
}

/** RFC 9110 sections 5.1 and 5.5. */
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\uffff]*$/
/** Non-ASCII paths have several spellings in bytes. */
const ASCII = /^[\x21-\x7e]+$/

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
