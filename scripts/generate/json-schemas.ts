// SPDX-License-Identifier: Apache-2.0
// JSON Schemas (draft 7, which editors understand) of the policy kinds, from the same definitions as the CRDs. One file
// per kind, and `merlon.json` for a document of any kind. Checks by CEL or the control plane are not included.

import type { MeshNames } from "@merlon/policy/mesh"
import { KINDS, type KindDefinition, servedVersions } from "@merlon/policy/resources"

type Node = Readonly<Record<string, unknown>>

const DRAFT = "http://json-schema.org/draft-07/schema#"

/** Text by path in the repository. */
export function jsonSchemas(names: MeshNames): ReadonlyMap<string, string> {
  const kinds = KINDS.map(definition => [`${definition.singular}.json`, kindSchema(definition, names)] as const)
  const files = [...kinds, ["merlon.json", anyKind(names)] as const]
  return new Map(files.map(([name, schema]) => [`schemas/${name}`, `${JSON.stringify(schema, undefined, 2)}\n`]))
}

function kindSchema(definition: KindDefinition, names: MeshNames): Node {
  const { kind, summary, spec, specOptional } = definition
  const group = definition.group === "security" ? names.securityGroup : names.networkingGroup
  return {
    $schema: DRAFT,
    title: kind,
    description: summary,
    type: "object",
    required: ["apiVersion", "kind", "metadata", ...(specOptional ? [] : ["spec"])],
    additionalProperties: false,
    properties: {
      apiVersion: { enum: servedVersions(names).map(version => `${group}/${version}`) },
      kind: { const: kind },
      metadata: METADATA,
      spec: plain({ ...spec }),
      status: { type: "object", description: "Written by the control plane." },
    },
  }
}

/** Selects the schema by `kind`, so that an editor reports the errors of that kind only. */
function anyKind(names: MeshNames): Node {
  return {
    $schema: DRAFT,
    title: `A policy of ${names.mesh}`,
    type: "object",
    required: ["kind"],
    properties: { kind: { enum: KINDS.map(({ kind }) => kind) } },
    allOf: KINDS.map(({ kind, singular }) => ({
      if: { properties: { kind: { const: kind } }, required: ["kind"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { $ref: `${singular}.json` },
    })),
  }
}

const LABELS = { type: "object", additionalProperties: { type: "string" } }
const METADATA: Node = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 253 },
    namespace: { type: "string", minLength: 1, maxLength: 63 },
    labels: LABELS,
    annotations: LABELS,
  },
}

/** Without our own and Kubernetes' keywords, which begin with `x-`. */
function plain(node: Node): Node {
  const result: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) {
    if (/^[x~]/.test(keyword)) continue
    if (keyword === "properties" && isNode(value)) {
      result[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, isNode(property) ? plain(property) : property]),
      )
    } else result[keyword] = isNode(value) && keyword !== "default" ? plain(value) : value
  }
  return result
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
