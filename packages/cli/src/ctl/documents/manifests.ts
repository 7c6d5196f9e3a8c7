// SPDX-License-Identifier: Apache-2.0
// The documents to send: ours are validated first, so that an error is shown at its position in the file; all others are
// passed to the server unchanged.

import type { MeshNames } from "@merlon/policy/mesh"
import {
  type DocumentError,
  isPolicyTest,
  type ReadDocument,
  readDocuments,
  type Warning,
} from "@merlon/policy/resources"
import type { AnyObject } from "../catalog/resource.js"
import { fieldsOf, textOf } from "../foreign.js"
import { pointAt } from "./caret.js"
import type { SourceText } from "./sources.js"

export interface Manifest {
  readonly object: AnyObject
  /** The file, for messages. */
  readonly source: string
}

export interface Manifests {
  readonly manifests: readonly Manifest[]
  /** Complete messages, each with its position. */
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

const MAX_CHARACTERS = 16 << 20

export function readManifests(sources: readonly SourceText[], names: MeshNames, namespace: string): Manifests {
  const manifests: Manifest[] = []
  const errors: string[] = []
  const warnings: string[] = []
  for (const { name, text } of sources) {
    const show = (finding: DocumentError | Warning): string => showFinding(name, text, finding)
    for (const read of readDocuments(text, names, { namespace, maxCharacters: MAX_CHARACTERS })) {
      // Policy tests may be among the policies, but are for `merlonctl test` and not for the cluster.
      if (isPolicyTest(read.value)) continue
      if (isOurs(read, names)) {
        errors.push(...[...read.errors].sort(byPlace).map(show))
        warnings.push(...[...read.warnings].sort(byPlace).map(show))
        if (read.errors.length > 0) continue
      } else if (read.value === undefined) {
        errors.push(...read.errors.map(show))
        continue
      }
      const object = objectOf(read.value)
      if (typeof object === "string") errors.push(`${name}: ${object}`)
      else manifests.push({ object, source: name })
    }
  }
  return { manifests, errors, warnings }
}

/** Whether we validate it. The group decides, so that a misspelt kind in our group is an error. */
function isOurs({ value }: ReadDocument, { securityGroup, networkingGroup }: MeshNames): boolean {
  const group = textOf(fieldsOf(value).apiVersion)?.split("/")[0]
  return group === securityGroup || group === networkingGroup
}

/** The object, or an error message. */
function objectOf(value: unknown): AnyObject | string {
  const { apiVersion, kind, metadata } = fieldsOf(value)
  if (typeof apiVersion !== "string" || apiVersion === "") return "a document has no `apiVersion`; write it, as `v1`"
  if (typeof kind !== "string" || kind === "") return "a document has no `kind`; write it, as `Namespace`"
  const { name, namespace, generateName } = fieldsOf(metadata)
  if (typeof name !== "string" || name === "") {
    return generateName === undefined
      ? `a ${kind} has no \`metadata.name\`; write it`
      : `a ${kind} has \`metadata.generateName\`, which cannot be applied; give it a name`
  }
  if (namespace !== undefined && typeof namespace !== "string") return `the namespace of ${kind} \`${name}\` is no text`
  return value as AnyObject // checked above
}

/** Sorts by position in the file. */
function byPlace({ position: a }: DocumentError | Warning, { position: b }: DocumentError | Warning): number {
  return (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0)
}

/** A message with its position and the source line. */
export function showFinding(file: string, text: string, { position, message }: DocumentError | Warning): string {
  const place = position === undefined ? file : `${file}:${position.line}:${position.column}`
  return `${place}: ${message}\n${pointAt(text, position)}`
}
