// SPDX-License-Identifier: Apache-2.0
// Detects a kustomization beside manifests: what is applied is the output of `kustomize build`. An answer about the files
// is only true if the kustomization does nothing but list files that were read.

import { posix } from "node:path"
import { fieldsOf, listOf, textOf } from "../foreign.js"

const NAME = /(^|[/:])kustomization\.ya?ml$/i
const GROUP = "kustomize.config.k8s.io/"
/** Fields that change nothing about the files that are listed. */
const HARMLESS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "resources"])

export const KUSTOMIZE = "kustomize builds something else from these files; pass what `kustomize build` prints: `-f -`"

/** Whether the document makes something else of the files than they say; `read` are the names of all that were read. */
export function kustomizes(value: unknown, source: string, read: readonly string[]): boolean {
  const fields = fieldsOf(value)
  if (!NAME.test(source) && textOf(fields.apiVersion)?.startsWith(GROUP) !== true) return false
  if (Object.keys(fields).some(field => !HARMLESS.has(field))) return true
  return !listOf(fields.resources).every(resource => {
    const path = posix.join(posix.dirname(source), textOf(resource) ?? "")
    return read.some(name => name === path || name.startsWith(`${path}/`))
  })
}
