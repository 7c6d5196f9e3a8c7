// SPDX-License-Identifier: Apache-2.0
// Generates CustomResourceDefinitions from the definitions: structural schemas, CEL rules, printer columns. Unknown
// fields of a spec are kept rather than pruned, so that admission sees and rejects them: a misspelt condition that
// silently vanished would leave a wider policy than its author wrote.

import type { MeshNames } from "../mesh/names.js"
import { isObject } from "./field.js"
import { KINDS, type KindDefinition, type PrinterColumn, servedVersions } from "./kinds.js"

/** A node of a structural schema, as plain JSON. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
  readonly metadata: { readonly name: string; readonly labels: { readonly [key: string]: string } }
  readonly spec: {
    readonly group: string
    readonly scope: "Namespaced"
    readonly names: {
      readonly kind: string
      readonly listKind: string
      readonly plural: string
      readonly singular: string
      readonly shortNames: readonly string[]
      readonly categories: readonly string[]
    }
    readonly versions: readonly [CustomResourceVersion, ...CustomResourceVersion[]]
  }
}

export interface CustomResourceVersion {
  readonly name: string
  readonly served: true
  readonly storage: boolean
  readonly subresources: { readonly status: Record<string, never> }
  readonly additionalPrinterColumns: readonly PrinterColumn[]
  readonly schema: { readonly openAPIV3Schema: JsonSchema }
}

/** Keywords that are the same in JSON Schema and in structural schemas; the others are translated or omitted. */
const SAME = [
  "type",
  "description",
  "enum",
  "default",
  "format",
  "pattern",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "minProperties",
  "maxProperties",
  "required",
  "x-kubernetes-validations",
]

const STATUS_COLUMNS: readonly PrinterColumn[] = [
  {
    name: "Accepted",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
    description: "Whether the document is valid.",
    priority: 1,
  },
  {
    name: "Enforced",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Enforced")].status',
    description: "Whether every proxy concerned has acknowledged it.",
  },
  {
    name: "Ready",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    description: "Whether it does what it says, everywhere it applies.",
  },
]
const AGE: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Since when it exists.",
}

/** An invariant has a column that shows whether it holds; proxies do not enforce invariants. */
function statusColumns({ kind }: KindDefinition): readonly PrinterColumn[] {
  return kind === "PolicyInvariant" ? STATUS_COLUMNS.filter(({ name }) => name === "Accepted") : STATUS_COLUMNS
}

export function customResourceDefinitions(names: MeshNames): readonly CustomResourceDefinition[] {
  return KINDS.map(definition => customResourceDefinition(definition, names))
}

function customResourceDefinition(definition: KindDefinition, names: MeshNames): CustomResourceDefinition {
  const { kind, plural, singular, shortName } = definition
  const security = definition.group === "security"
  const group = security ? names.securityGroup : names.networkingGroup
  const [stored, ...others] = servedVersions(names)
  const version = (name: string, storage: boolean): CustomResourceVersion => ({
    name,
    served: true,
    storage,
    subresources: { status: {} },
    additionalPrinterColumns: [...definition.columns, ...statusColumns(definition), AGE],
    schema: { openAPIV3Schema: documentSchema(definition) },
  })
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels: { "app.kubernetes.io/part-of": names.mesh } },
    spec: {
      group,
      scope: "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames: [shortName],
        categories: security ? [names.category, names.policyCategory] : [names.category],
      },
      versions: [version(stored, true), ...others.map(name => version(name, false))],
    },
  }
}

function documentSchema(definition: KindDefinition): JsonSchema {
  return {
    type: "object",
    description: definition.summary,
    "x-kubernetes-preserve-unknown-fields": true,
    ...(definition.specOptional ? {} : { required: ["spec"] }),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: structural({ ...definition.spec }),
      status: STATUS,
    },
  }
}

/**
 * Converts a node of our schema into a node of a structural schema. A list is owned as a whole by its last applier. If
 * the API server filled in defaults of its items, every second apply would be a change, so lists have no defaults; an
 * absent field means its default anyway.
 */
function structural(node: JsonSchema, inList = false): JsonSchema {
  const result: Record<string, unknown> = {}
  for (const keyword of SAME) {
    if (node[keyword] !== undefined && !(inList && keyword === "default")) result[keyword] = node[keyword]
  }
  if (isObject(node.items)) result.items = structural(node.items, true)
  if (isObject(node.additionalProperties)) result.additionalProperties = structural(node.additionalProperties, inList)
  if (isObject(node.properties)) {
    result.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, property]) => [
        name,
        isObject(property) ? structural(property, inList) : property,
      ]),
    )
    result["x-kubernetes-preserve-unknown-fields"] = true
  }
  return result
}

const STATUS: JsonSchema = {
  type: "object",
  description: "Written by the control plane.",
  "x-kubernetes-preserve-unknown-fields": true,
  properties: {
    observedGeneration: { type: "integer", format: "int64", description: "The generation the conditions speak of." },
    conditions: {
      type: "array",
      description: "What is known about the resource.",
      maxItems: 32,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: {
        type: "object",
        required: ["type", "status", "lastTransitionTime", "reason", "message"],
        properties: {
          type: { type: "string", maxLength: 316, description: "Accepted, MatchesWorkloads, Enforced and others." },
          status: { type: "string", enum: ["True", "False", "Unknown"], description: "Whether it holds." },
          reason: { type: "string", maxLength: 1024, description: "One word for programs." },
          message: { type: "string", maxLength: 32_768, description: "One sentence for people." },
          lastTransitionTime: { type: "string", format: "date-time", description: "When the status last changed." },
          observedGeneration: { type: "integer", format: "int64", description: "The generation it speaks of." },
        },
      },
    },
  },
}
