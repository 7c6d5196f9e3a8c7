// SPDX-License-Identifier: Apache-2.0
// Generates the reference page of a kind from its definition: every field with type, default, limits and meaning, an
// example that validates, and what is rejected.

import {
  apiVersionOf,
  type CelRule,
  exampleDocument,
  type JsonSchema,
  type KindDefinition,
  type MeshNames,
  PLAIN_ATTRIBUTES,
  type Rejected,
} from "@merlon/policy"

const NOTICE = "<!-- Written by `npm run generate` from packages/policy/src/resources. Do not edit. -->"

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

interface FieldRow {
  readonly path: string
  readonly node: JsonSchema
  readonly required: boolean
}

export function referencePage(definition: KindDefinition, names: MeshNames): string {
  const rows = fieldsOf({ ...definition.spec }, "spec")
  const nodes = [{ path: "spec", node: { ...definition.spec }, required: !definition.specOptional }, ...rows]
  const sections = [
    NOTICE,
    `# ${definition.kind}`,
    definition.summary,
    facts(definition, names),
    `## Example\n\n\`\`\`yaml\n${exampleDocument(definition, names)}\`\`\``,
    `## Fields\n\n| field | type | default | limits | meaning |\n|---|---|---|---|---|\n${rows.map(fieldLine).join("\n")}`,
    definition.kind === "AuthorizationPolicy" ? attributes() : "",
    rules(nodes),
    rejected(nodes),
    STATUS,
  ]
  return `${sections.filter(section => section !== "").join("\n\n")}\n`
}

function facts(definition: KindDefinition, names: MeshNames): string {
  const { plural, shortName } = definition
  return `| | |
|---|---|
| apiVersion | \`${apiVersionOf(definition, names)}\` |
| resource | \`${plural}\`, short \`${shortName}\`, namespaced, with a status subresource |
| root namespace | \`${names.rootNamespace}\` |`
}

/** In the order of the definition, each object before its fields. */
function fieldsOf(node: JsonSchema, path: string): readonly FieldRow[] {
  const inner = isObject(node.items)
    ? node.items
    : isObject(node.additionalProperties)
      ? node.additionalProperties
      : undefined
  if (inner !== undefined) return fieldsOf(inner, isObject(node.items) ? `${path}[]` : `${path}{}`)
  const required = Array.isArray(node.required) ? (node.required as readonly unknown[]) : []
  return Object.entries(isObject(node.properties) ? node.properties : {}).flatMap(([name, child]) => {
    if (!isObject(child)) return []
    const at = `${path}.${name}`
    return [{ path: at, node: child, required: required.includes(name) }, ...fieldsOf(child, at)]
  })
}

function fieldLine({ path, node, required }: FieldRow): string {
  const limits = [required ? "required" : "", ...limitsOf(node)].filter(limit => limit !== "").join(", ")
  const fallback = typeof node.default === "string" || typeof node.default === "boolean" ? `\`${node.default}\`` : ""
  const cells = [
    `\`${path.replace(/^spec\./, "")}\``,
    typeOf(node),
    fallback,
    limits,
    typeof node.description === "string" ? node.description : "",
  ]
  return `| ${cells.map(cell => cell.replaceAll("|", "\\|")).join(" | ")} |`
}

function typeOf(node: JsonSchema): string {
  if (Array.isArray(node.enum)) return node.enum.map(value => `\`${String(value)}\``).join(", ")
  if (isObject(node.items)) return `list of ${typeOf(node.items)}`
  if (isObject(node.additionalProperties)) return `map of ${typeOf(node.additionalProperties)}`
  if (node.type === "string") return "text"
  return node.type === "boolean" ? "true or false" : node.type === "integer" ? "whole number" : "object"
}

function limitsOf(node: JsonSchema): string[] {
  const limit = (keyword: string) => (typeof node[keyword] === "number" ? node[keyword] : undefined)
  const limits: string[] = []
  if (limit("minimum") !== undefined) limits.push(`${limit("minimum")} to ${limit("maximum")}`)
  if (limit("minItems") ?? limit("minProperties") ?? limit("minLength")) limits.push("not empty")
  const most = limit("maxItems") ?? limit("maxProperties")
  if (most !== undefined) limits.push(`at most ${most}`)
  if (limit("maxLength") !== undefined) limits.push(`at most ${limit("maxLength")} characters`)
  const item = isObject(node.items) ? limitsOf(node.items) : []
  return item.length === 0 ? limits : [...limits, `each ${item.join(", ")}`]
}

function attributes(): string {
  const keys = [
    ...PLAIN_ATTRIBUTES,
    "request.headers[<name>]",
    "request.auth.claims[<name>]",
    "request.auth.claims[<name>][<name>]",
  ]
  return `## Attributes for \`when[].key\`\n\n${keys.map(key => `- \`${key}\``).join("\n")}`
}

function rules(nodes: readonly FieldRow[]): string {
  const lines = nodes.flatMap(({ path, node }) =>
    [node, node.items, node.additionalProperties]
      .filter(isObject)
      .flatMap(inner => (inner["x-kubernetes-validations"] ?? []) as readonly CelRule[]) // the type in `Notes`
      .map(({ message }) => `- \`${path}\`: ${message}`),
  )
  return lines.length === 0 ? "" : `## Rules the API server checks\n\n${[...new Set(lines)].join("\n")}`
}

function rejected(nodes: readonly FieldRow[]): string {
  const lines = nodes.flatMap(({ path, node }) =>
    Object.entries((node["x-rejected"] ?? {}) as { readonly [name: string]: Rejected }) // the type in `Notes`
      .map(([name, { problem, fix }]) => `- \`${path}\`, \`${name}\`: ${problem}; ${fix}`),
  )
  return lines.length === 0 ? "" : `## Known from other meshes and rejected\n\n${lines.join("\n")}`
}

const STATUS = `## Status

\`status.conditions\` says whether the document is valid (\`Accepted\`, with what it does in one sentence), how many
workloads it selects (\`MatchesWorkloads\`) and whether every proxy concerned enforces it (\`Enforced\`).`
