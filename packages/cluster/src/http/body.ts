// SPDX-License-Identifier: Apache-2.0
// Request bodies: read within a limit, decoded from JSON, YAML or protobuf, and turned into an object of the expected
// kind with Kubernetes' error messages. The field validation mode decides whether unknown and repeated fields are
// rejected or only warned about.

import type { IncomingMessage } from "node:http"
import { DecodeError } from "../kinds/codec.js"
import { builtinResources } from "../kinds/resource-table.js"
import { type StructNode, typeNamed } from "../kinds/type-table.js"
import { badRequest, tooLarge, unsupportedMediaType } from "../meta/status.js"
import type { RequestContext } from "../registry/context.js"
import type { Kind } from "../registry/kind.js"
import { asString, isObject, type Json, type JsonObject } from "../value.js"
import { JsonSyntaxError, parseJson } from "../wire/json.js"
import { decodeMessage, openEnvelope, ProtobufError } from "../wire/protobuf.js"
import { parseYaml, YamlSyntaxError } from "../wire/yaml.js"

const MAX_BODY = 3 * 1024 * 1024
const ACCEPTED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
const PROTOBUF = "application/vnd.kubernetes.protobuf"

/**
 * Reads the whole body. `claim` is called for every chunk and may reject it. The declared length is not trusted,
 * because a few bytes could reserve megabytes. A request whose body is rejected stays usable, so that it can still get
 * a response.
 */
export function readBody(request: IncomingMessage, claim: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const fail = (error: unknown): void => {
      request.off("data", take)
      request.pause()
      reject(error instanceof Error ? error : new Error(String(error)))
    }
    const take = (chunk: Buffer): void => {
      size += chunk.length
      try {
        if (size > MAX_BODY) throw tooLarge(`limit is ${MAX_BODY}`)
        claim(chunk.length)
        chunks.push(chunk)
      } catch (error) {
        fail(error)
      }
    }
    if (Number(request.headers["content-length"] ?? "0") > MAX_BODY) {
      fail(tooLarge(`limit is ${MAX_BODY}`))
      return
    }
    request.on("data", take)
    request.on("end", () => resolve(Buffer.concat(chunks)))
    request.on("error", fail)
    request.on("close", () => reject(new Error("the client left before its request was complete")))
  })
}

export function mediaType(request: IncomingMessage): string {
  const header = request.headers["content-type"] ?? ""
  return (header.split(";")[0] ?? "").trim().toLowerCase() || "application/json"
}

export interface ParsedBody {
  readonly value: Json
  /** Errors of the strict decoder about repeated keys. */
  readonly duplicates: string[]
}

function summarize(body: Buffer): string {
  if (body.length === 0) return "<empty>"
  const cut = body.subarray(0, 30)
  const text = body[0] === 0x7b ? cut.toString() : cut.toString("hex")
  return body.length > 30 ? `${text} ...` : text
}

/** Parses without knowledge of the kind. Errors have the parser's wording. */
export function parseBody(body: Buffer, media: string): ParsedBody {
  if (media === "application/yaml") {
    const { value, duplicates } = parseYaml(body.toString())
    return { value, duplicates: duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n${duplicates.join("\n")}`] }
  }
  const { value, duplicates } = parseJson(body.toString())
  return { value, duplicates: duplicates.map(path => `duplicate field ${JSON.stringify(path)}`) }
}

const TYPE_META = `struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`

function checkTypeMeta(value: Json): void {
  const fail = (what: string): never => {
    throw new DecodeError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${what} into Go value of type ${TYPE_META}`,
    )
  }
  if (Array.isArray(value)) fail("array")
  if (typeof value === "string") fail("string")
  if (typeof value === "boolean") fail("bool")
  if (typeof value === "number" || typeof value === "bigint") fail("number")
  if (!isObject(value)) return
  for (const [key, field] of [
    ["apiVersion", "APIVersion"],
    ["kind", "Kind"],
  ] as const) {
    const item = value[key]
    if (item !== undefined && item !== null && typeof item !== "string")
      throw new DecodeError(
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(item) ? "array" : typeof item === "object" ? "object" : typeof item === "boolean" ? "bool" : "number"} into Go struct field .${key === "kind" ? "kind" : "apiVersion"} of type string`.replace(
          field,
          field,
        ),
      )
  }
}

export interface Expected {
  readonly kind: string
  readonly apiVersion: string
  readonly builtin: boolean
  /** Needed to decode protobuf. */
  readonly type: StructNode | undefined
}

/** Parses a body and rejects a document of another kind. */
export function decodeBody(body: Buffer, media: string, expected: Expected): ParsedBody {
  if (media !== "application/json" && media !== "application/yaml" && !(media === PROTOBUF && expected.builtin))
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${ACCEPTED}`,
    )
  const unrecognized = (why: string): never => {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): ${why} (${summarize(body)})`,
    )
  }
  if (media === PROTOBUF) return decodeProtobuf(body, expected, unrecognized)
  let parsed: ParsedBody
  try {
    parsed = parseBody(body, media)
    checkTypeMeta(parsed.value)
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      return unrecognized(`couldn't get version/kind; json parse error: ${error.message}`)
    if (error instanceof YamlSyntaxError || error instanceof DecodeError) return unrecognized(error.message)
    throw error
  }
  const document = isObject(parsed.value) ? parsed.value : {}
  if (expected.builtin) checkBuiltinKind(document, expected)
  else {
    if (asString(document.kind) === "") unrecognized(`Object 'Kind' is missing in '${body.toString()}'`)
    if (asString(document.apiVersion) !== expected.apiVersion)
      throw badRequest(
        `the API version in the data (${asString(document.apiVersion)}) does not match the expected API version (${expected.apiVersion})`,
      )
  }
  return { value: document, duplicates: parsed.duplicates }
}

function decodeProtobuf(body: Buffer, expected: Expected, unrecognized: (why: string) => never): ParsedBody {
  try {
    const envelope = openEnvelope(body)
    const header = { kind: envelope.kind, apiVersion: envelope.apiVersion }
    checkBuiltinKind(header, expected)
    const type = expected.type ?? typeNamed("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    return { value: { ...decodeMessage(type, envelope.raw), ...header }, duplicates: [] }
  } catch (error) {
    if (error instanceof ProtobufError) return unrecognized(error.message)
    throw error
  }
}

const SCHEME = "pkg/api/legacyscheme/scheme.go:30"

function checkBuiltinKind(document: JsonObject, expected: Expected): void {
  const kind = asString(document.kind) || expected.kind
  const apiVersion = asString(document.apiVersion) || expected.apiVersion
  if (kind === expected.kind && apiVersion === expected.apiVersion) return
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1)
  const head = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}: `
  const known = builtinResources.find(info => info.kind === kind && info.apiVersion === apiVersion)
  if (known === undefined)
    throw badRequest(
      `${head}no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${JSON.stringify(SCHEME)}`,
    )
  const group = expected.apiVersion.includes("/") ? (expected.apiVersion.split("/")[0]?.split(".")[0] ?? "") : "core"
  throw badRequest(`${head}converting (${known.version}.${kind}) to (${group}.${expected.kind}): unknown conversion`)
}

/** Decodes into the kind, and handles unknown fields according to `fieldValidation`. */
export function typedBody(kind: Kind, parsed: ParsedBody, context: RequestContext): JsonObject {
  const version = kind.info.version
  const handled = (why: string): never => {
    throw badRequest(
      `${kind.info.kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind.info.kind}: ${why}`,
    )
  }
  try {
    const { object, unknown } = kind.decode(parsed.value)
    complain(strictIssues(parsed.duplicates, unknown), context, issues =>
      handled(`strict decoding error: ${issues.join(", ")}`),
    )
    return object
  } catch (error) {
    if (error instanceof DecodeError) return handled(error.message)
    throw error
  }
}

export function strictIssues(duplicates: readonly string[], unknown: readonly string[]): string[] {
  return [...duplicates, ...unknown.map(path => `unknown field ${JSON.stringify(path)}`)]
}

export function complain(
  issues: readonly string[],
  context: Pick<RequestContext, "fieldValidation" | "warn">,
  fail: (issues: readonly string[]) => void,
): void {
  if (issues.length === 0 || context.fieldValidation === "Ignore") return
  if (context.fieldValidation === "Strict") fail(issues)
  else for (const issue of issues) context.warn(issue)
}
