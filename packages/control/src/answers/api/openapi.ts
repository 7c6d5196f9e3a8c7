// SPDX-License-Identifier: Apache-2.0
// OpenAPI documents of the API, in both versions that API servers request from extensions: without them the API server
// keeps logging errors, and `kubectl explain` does not work. Kinds are only described in words;
// docs/reference/answers-api.md has every field.

import { createHash } from "node:crypto"
import type { MeshNames } from "@merlon/policy/mesh"
import { ANSWERS, ANSWERS_VERSION, type AnswerResource, answersGroup } from "./resources.js"

/** Documents by path. */
export function openApiDocuments(names: MeshNames): ReadonlyMap<string, object> {
  const base = `apis/${answersGroup(names)}/${ANSWERS_VERSION}`
  const whole = describe(names, "v3")
  const hash = createHash("sha256").update(JSON.stringify(whole)).digest("hex").toUpperCase()
  return new Map([
    ["/openapi/v2", describe(names, "v2")],
    ["/openapi/v3", { paths: { [base]: { serverRelativeURL: `/openapi/v3/${base}?hash=${hash}` } } }],
    [`/openapi/v3/${base}`, whole],
  ])
}

type Version = "v2" | "v3"

const INFO = { title: "Merlon: observations and analysis of the mesh", version: ANSWERS_VERSION }

function describe(names: MeshNames, version: Version): object {
  const paths = Object.fromEntries(ANSWERS.flatMap(resource => pathsOf(resource, names, version)))
  const schemas = Object.fromEntries(ANSWERS.map(resource => [schemaName(resource, names), schemaOf(resource, names)]))
  return version === "v2"
    ? { swagger: "2.0", info: INFO, paths, definitions: schemas }
    : { openapi: "3.0.0", info: INFO, paths, components: { schemas } }
}

/** The name in the style of Kubernetes: the group reversed, then version and kind. */
function schemaName({ kind }: AnswerResource, names: MeshNames): string {
  return `${answersGroup(names).split(".").reverse().join(".")}.${ANSWERS_VERSION}.${kind}`
}

function kindOf({ kind }: AnswerResource, names: MeshNames): object {
  return { group: answersGroup(names), version: ANSWERS_VERSION, kind }
}

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const

function schemaOf(resource: AnswerResource, names: MeshNames): object {
  const isAsked = resource.verbs.includes("create")
  const text = (description: string) => ({ type: "string", description })
  return {
    type: "object",
    description: resource.about,
    properties: {
      apiVersion: text(`${answersGroup(names)}/${ANSWERS_VERSION}`),
      kind: text(resource.kind),
      metadata: { ...ANYTHING, description: "name and namespace" },
      spec: { ...ANYTHING, description: isAsked ? `the query: ${resource.fields}` : resource.fields },
      ...(isAsked ? { status: { ...ANYTHING, description: "the answer" } } : {}),
    },
    "x-kubernetes-group-version-kind": [kindOf(resource, names)],
  }
}

const ACTIONS: Readonly<Record<string, string>> = { get: "get", list: "list", watch: "watch", create: "post" }

function pathsOf(resource: AnswerResource, names: MeshNames, version: Version): [path: string, item: object][] {
  const base = `/apis/${answersGroup(names)}/${ANSWERS_VERSION}`
  const operation = (verb: string, where: string): object => {
    const schema = {
      $ref: `#/${version === "v2" ? "definitions" : "components/schemas"}/${schemaName(resource, names)}`,
    }
    // The schema describes the items of a list; the list itself has no further fields to describe.
    const given = verb === "list" ? { type: "object" } : schema
    const body = { description: "OK", ...(version === "v2" ? { schema: given } : { content: json(given) }) }
    return {
      operationId: `${verb}${where}${resource.kind}`,
      description: resource.about,
      ...(version === "v2" ? { produces: ["application/json"], schemes: ["https"] } : {}),
      ...(verb === "create" ? asked(schema, version) : {}),
      responses: { [verb === "create" ? "201" : "200"]: body },
      "x-kubernetes-action": ACTIONS[verb],
      "x-kubernetes-group-version-kind": kindOf(resource, names),
    }
  }
  const place = (path: string, where: string, parameters: readonly string[]): [string, object][] => {
    const isOne = path.endsWith("{name}")
    const verb = resource.verbs.includes("create") ? "create" : isOne ? "get" : "list"
    if (!resource.verbs.includes(verb) || (verb === "create" && isOne)) return []
    return [
      [
        path,
        {
          [verb === "create" ? "post" : "get"]: operation(verb, where),
          ...(parameters.length === 0 ? {} : { parameters: parameters.map(name => parameter(name, version)) }),
        },
      ],
    ]
  }
  const inNamespace = `${base}/namespaces/{namespace}/${resource.name}`
  return [
    ...place(`${base}/${resource.name}`, "", []),
    ...place(inNamespace, "Namespaced", ["namespace"]),
    ...place(`${inNamespace}/{name}`, "Namespaced", ["namespace", "name"]),
  ]
}

function asked(schema: object, version: Version): object {
  return version === "v2"
    ? { consumes: ["application/json"], parameters: [{ name: "body", in: "body", required: true, schema }] }
    : { requestBody: { required: true, content: json(schema) } }
}

function parameter(name: string, version: Version): object {
  const type = { type: "string" }
  return { name, in: "path", required: true, ...(version === "v2" ? type : { schema: type }) }
}

function json(schema: object): object {
  return { "application/json": { schema } }
}
