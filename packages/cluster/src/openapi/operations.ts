// SPDX-License-Identifier: Apache-2.0
// One operation of a path, in either version of OpenAPI: parameters, body, responses and the Kubernetes extensions.

import type { Json, JsonObject } from "../value.js"
import type { Flavour } from "./schemas.js"

interface Parameter {
  readonly type: "string" | "boolean" | "integer"
  readonly description: string
}

const dryRun =
  "When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive will result in an error response and no further processing of the request. Valid values are: - All: all dry run stages will be processed"
const manager =
  "fieldManager is a name associated with the actor or entity that is making these changes. The value must be less than or 128 characters long, and only contain printable characters, as defined by https://golang.org/pkg/unicode/#IsPrint."
const applyManager = `${manager} This field is required for apply requests (application/apply-patch) but optional for non-apply patch types (JsonPatch, MergePatch, StrategicMergePatch).`
const validation =
  "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are: - Ignore: This will ignore any unknown fields that are silently dropped from the object, and will ignore all but the last duplicate field that the decoder encounters. This is the default behavior prior to v1.23. - Warn: This will send a warning via the standard warning response header for each unknown field that is dropped from the object, and for each duplicate field that is encountered. The request will still succeed if there are no other errors, and will only persist the last of any duplicate fields. This is the default in v1.23+ - Strict: This will fail the request with a BadRequest error if any unknown fields would be dropped from the object, or if any duplicate fields are present. The error returned from the server will contain all unknown and duplicate fields encountered."
const version =
  "resourceVersion sets a constraint on what resource versions a request may be served from. See https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions for details.\n\nDefaults to unset"

const known: Record<string, Parameter> = {
  pretty: {
    type: "string",
    description:
      "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).",
  },
  dryRun: { type: "string", description: dryRun },
  fieldManager: { type: "string", description: manager },
  applyManager: { type: "string", description: applyManager },
  fieldValidation: { type: "string", description: validation },
  force: {
    type: "boolean",
    description:
      'Force is going to "force" Apply requests. It means user will re-acquire conflicting fields owned by other people. Force flag must be unset for non-apply patch requests.',
  },
  resourceVersion: { type: "string", description: version },
  labelSelector: {
    type: "string",
    description: "A selector to restrict the list of returned objects by their labels. Defaults to everything.",
  },
  fieldSelector: {
    type: "string",
    description: "A selector to restrict the list of returned objects by their fields. Defaults to everything.",
  },
  limit: { type: "integer", description: "limit is a maximum number of responses to return for a list call." },
  continue: {
    type: "string",
    description: "The continue option should be set when retrieving more results from the server.",
  },
  watch: {
    type: "boolean",
    description:
      "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications. Specify resourceVersion.",
  },
  timeoutSeconds: {
    type: "integer",
    description:
      "Timeout for the list/watch call. This limits the duration of the call, regardless of any activity or inactivity.",
  },
  gracePeriodSeconds: {
    type: "integer",
    description: "The duration in seconds before the object should be deleted. Value must be non-negative integer.",
  },
  propagationPolicy: { type: "string", description: "Whether and how garbage collection will be performed." },
}

const byAction: Record<string, string[]> = {
  get: ["resourceVersion"],
  list: ["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "timeoutSeconds", "watch"],
  post: ["dryRun", "fieldManager", "fieldValidation"],
  put: ["dryRun", "fieldManager", "fieldValidation"],
  patch: ["dryRun", "applyManager", "fieldValidation", "force"],
  delete: ["dryRun", "gracePeriodSeconds", "propagationPolicy"],
  deletecollection: [
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "propagationPolicy",
  ],
}

export function queryParameters(names: readonly string[], flavour: Flavour): JsonObject[] {
  return names.map(name => {
    const { type, description } = known[name] ?? { type: "string", description: "" }
    const shown = name === "applyManager" ? "fieldManager" : name
    return flavour === "v3"
      ? { name: shown, in: "query", description, schema: { type, uniqueItems: true } }
      : { uniqueItems: true, type, description, name: shown, in: "query" }
  })
}

export function pathParameter(name: string, description: string, flavour: Flavour): JsonObject {
  return flavour === "v3"
    ? { name, in: "path", description, required: true, schema: { type: "string", uniqueItems: true } }
    : { uniqueItems: true, type: "string", description, name, in: "path", required: true }
}

export interface OperationSpec {
  readonly flavour: Flavour
  readonly action: string
  readonly description: string
  readonly id: string
  readonly tag: string
  readonly kind: JsonObject
  readonly answer: string
  readonly body?: string
  readonly custom: boolean
}

const MEDIA = ["application/json", "application/yaml"]
const PATCHES = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]

function media(custom: boolean): string[] {
  return custom ? MEDIA : ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"]
}

function codes(action: string, custom: boolean): [string, string][] {
  if (action === "patch" && custom) return [["200", "OK"]]
  if (action === "post")
    return [
      ["200", "OK"],
      ["201", "Created"],
      ["202", "Accepted"],
    ]
  if (action === "put" || action === "patch")
    return [
      ["200", "OK"],
      ["201", "Created"],
    ]
  return action === "delete"
    ? [
        ["200", "OK"],
        ["202", "Accepted"],
      ]
    : [["200", "OK"]]
}

export function operation(spec: OperationSpec): JsonObject {
  return spec.flavour === "v3" ? v3(spec) : v2(spec)
}

function v3(spec: OperationSpec): JsonObject {
  const content = (types: readonly string[], ref: string): JsonObject =>
    Object.fromEntries(types.map(type => [type, { schema: { $ref: ref } }]))
  const out: JsonObject = {
    tags: [spec.tag],
    description: spec.description,
    operationId: spec.id,
    parameters: queryParameters(byAction[spec.action] ?? [], "v3"),
  }
  if (spec.body !== undefined) {
    const types =
      spec.action === "patch"
        ? spec.custom
          ? PATCHES
          : [...PATCHES, "application/strategic-merge-patch+json"]
        : media(spec.custom)
    out.requestBody =
      spec.action === "delete"
        ? { content: content(types, spec.body) }
        : { content: content(types, spec.body), required: true }
  }
  const responses: JsonObject = {}
  for (const [code, text] of codes(spec.action, spec.custom))
    responses[code] = {
      description: text,
      content: content(spec.action === "patch" && spec.custom ? MEDIA : media(spec.custom), spec.answer),
    }
  responses["401"] = { description: "Unauthorized" }
  return { ...out, responses, ...extensions(spec) }
}

function extensions(spec: OperationSpec): JsonObject {
  return { "x-kubernetes-action": spec.action, "x-kubernetes-group-version-kind": spec.kind }
}

/** Version 2 defines parameters that many operations share once and references them. */
const RESOURCE_VERSION = "resourceVersion-5WAnf1kx"

function v2(spec: OperationSpec): JsonObject {
  const types = media(spec.custom)
  const parameters: Json[] =
    spec.action === "get"
      ? [{ $ref: `#/parameters/${RESOURCE_VERSION}` }]
      : queryParameters(byAction[spec.action] ?? [], "v2")
  if (spec.body !== undefined)
    parameters.unshift({ name: "body", in: "body", required: spec.action !== "delete", schema: { $ref: spec.body } })
  const responses: JsonObject = {}
  for (const [code, text] of codes(spec.action, spec.custom))
    responses[code] = { description: text, schema: { $ref: spec.answer } }
  responses["401"] = { description: "Unauthorized" }
  return {
    description: spec.description,
    consumes: spec.action === "patch" ? PATCHES : [...types],
    produces: [...types],
    schemes: ["https"],
    tags: [spec.tag],
    operationId: spec.id,
    parameters,
    responses,
    ...extensions(spec),
  }
}

export function sharedParameters(): JsonObject {
  const { type, description } = known.resourceVersion ?? { type: "string", description: "" }
  return { [RESOURCE_VERSION]: { uniqueItems: true, type, description, name: "resourceVersion", in: "query" } }
}
