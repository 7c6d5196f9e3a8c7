// SPDX-License-Identifier: Apache-2.0
// Findings as text, JSON, GitHub annotations and SARIF 2.1.0.

import { FINDINGS } from "@merlon/policy/analysis"
import { WARNINGS } from "@merlon/policy/resources"
import { PROVED_FINDINGS } from "../../errors.js"
import type { PlacedFinding } from "./findings.js"
import { type Inputs, inputLines, isComplete, NOT_ALL_READ } from "./inputs.js"

export type FindingsFormat = "text" | "json" | "sarif" | "github"

export function formatFindings(findings: readonly PlacedFinding[], format: FindingsFormat, read: Inputs): string {
  switch (format) {
    case "text":
      return text(findings, read)
    case "json":
      return JSON.stringify({ findings, read }, undefined, 2)
    case "sarif":
      return JSON.stringify(sarif(findings, read), undefined, 2)
    case "github":
      return [...findings.map(annotation), ...readAnnotations(read)].join("\n")
  }
}

function text(findings: readonly PlacedFinding[], read: Inputs): string {
  const none = isComplete(read) ? "nothing found" : `nothing found in what was read; ${NOT_ALL_READ}`
  const lines = findings.map(
    one => `${placeOf(one)}: ${one.severity}: ${subject(one)}: ${one.why}\n    ${one.fix} [${one.code}]`,
  )
  const unasked = read.workloads === 0 ? ["without workloads, rules that do nothing were not looked for"] : []
  return [...(lines.length === 0 ? [none] : lines), ...inputLines(read), ...unasked].join("\n")
}

function placeOf({ file, line, column, namespace, name }: PlacedFinding): string {
  if (file === undefined) return `${namespace}/${name}`
  return line === undefined ? file : `${file}:${line}:${column}`
}

function subject({ kind, namespace, name, path }: PlacedFinding): string {
  return `${kind} ${namespace}/${name}${path === "" ? "" : ` ${path}`}`
}

const COMMANDS = { error: "error", warning: "warning", info: "notice" } as const

// Escapes as GitHub's workflow commands require: percent and line breaks, in properties also `:` and `,`.
const escaped = (value: string) => value.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A")

function readAnnotations(read: Inputs): readonly string[] {
  const [line = "", ...skipped] = inputLines(read)
  return [`::notice title=read::${escaped(line)}`, ...skipped.map(one => `::error title=skipped::${escaped(one)}`)]
}

function annotation(one: PlacedFinding): string {
  const property = (value: string) => escaped(value).replaceAll(":", "%3A").replaceAll(",", "%2C")
  const properties = [
    one.file === undefined ? "" : `file=${property(one.file)}`,
    one.line === undefined ? "" : `line=${one.line}`,
    one.column === undefined ? "" : `col=${one.column}`,
    `title=${property(one.code)}`,
  ]
  const message = `${subject(one)}: ${one.why}; ${one.fix}`
  return `::${COMMANDS[one.severity]} ${properties.filter(part => part !== "").join(",")}::${escaped(message)}`
}

const LEVELS = { error: "error", warning: "warning", info: "note" } as const

function sarif(findings: readonly PlacedFinding[], read: Inputs): object {
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "merlonctl analyze",
            rules: [...new Set(findings.map(({ code }) => code))].sort().map(reportingDescriptor),
          },
        },
        invocations: [
          {
            executionSuccessful: isComplete(read),
            toolExecutionNotifications: read.skipped.map(text => ({ level: "error", message: { text } })),
          },
        ],
        properties: { read },
        results: findings.map(one => ({
          ruleId: one.code,
          level: LEVELS[one.severity],
          message: { text: `${subject(one)}: ${one.why}; ${one.fix}` },
          ...(one.file === undefined ? {} : { locations: [{ physicalLocation: physical(one) }] }),
        })),
      },
    ],
  }
}

const MEANINGS: Readonly<Record<string, { readonly cause: string; readonly fix: string } | undefined>> = {
  ...WARNINGS,
  ...FINDINGS,
  ...PROVED_FINDINGS,
}

/** The rule of SARIF under which tools list findings. */
function reportingDescriptor(id: string): object {
  const meaning = MEANINGS[id]
  if (meaning === undefined) return { id }
  const { cause, fix } = meaning
  return { id, shortDescription: { text: cause }, fullDescription: { text: cause }, help: { text: fix } }
}

function physical({ file, line, column }: PlacedFinding): object {
  return {
    artifactLocation: { uri: file },
    ...(line === undefined ? {} : { region: { startLine: line, startColumn: column } }),
  }
}
