// SPDX-License-Identifier: Apache-2.0
// A set of policies from files: a file, a folder with its subfolders, standard input, or `REVISION:PATH` in the current
// git repository. A policy that cannot be read is an error, because an answer about the others would be about another
// set. Skipped documents that may have been meant as a policy or a workload are logged.

import { stat } from "node:fs/promises"
import type { MeshNames } from "@merlon/policy/mesh"
import type { PolicyDocument, Position } from "@merlon/policy/resources"
import { isPolicyTest, type ReadDocument, readDocuments, type Validation, validate } from "@merlon/policy/resources"
import { checkInBounds } from "../confinement.js"
import { GitRevision } from "../documents/git-sources.js"
import { showFinding } from "../documents/manifests.js"
import { type FolderFiles, filesIn, type SourceText } from "../documents/sources.js"
import { COMPRESSED, isCompressed, kindIn, otherName } from "../documents/unread-file.js"
import { CommandError } from "../exit.js"
import { fieldsOf, textOf } from "../foreign.js"
import { readText, standardInput } from "../read-text.js"
import { hasTargets, isIstio, isOurInvariant, isTargetingPolicy, MAX_CHARACTERS, notModelled } from "./dialect.js"
import type { InputLog } from "./inputs.js"
import { validateTargeting } from "./istio-targets.js"
import { KUSTOMIZE, kustomizes } from "./kustomization.js"
import { TELLING_KINDS, WORKLOAD_KINDS, whyItMatters } from "./unread-document.js"

/** A policy with its position. */
export interface PlacedPolicy {
  readonly document: PolicyDocument
  /** The file. Undefined if it comes from a cluster. */
  readonly source: string | undefined
  locate(path: readonly (string | number)[]): Position | undefined
}

export interface PolicyFiles {
  readonly policies: readonly PolicyDocument[]
  readonly placed: readonly PlacedPolicy[]
  /** Documents of other kinds, unchanged. */
  readonly others: readonly { readonly value: unknown; readonly source: string }[]
  /** ServiceEntries of Istio, which may use a waypoint. */
  readonly entries: readonly unknown[]
  /** Documents with targets that are not modelled, each with its text for the log. */
  readonly targeting: readonly { readonly what: string; readonly value: unknown }[]
  /** Whether there was nothing to read. A folder may be empty: a mesh starts without policies. */
  readonly isEmpty: boolean
}

export interface ReadPolicies {
  readonly names: MeshNames
  /** The namespace of documents that name none. */
  readonly namespace: string
  readonly note: (text: string) => void
  readonly log: InputLog
  /** Cache of parsed texts: most files are equal in two revisions. */
  readonly known?: Map<string, readonly ReadDocument[]>
}

export async function readPolicyFiles(path: string, reading: ReadPolicies): Promise<PolicyFiles> {
  return policiesIn(await readSource(path, reading.log), path, reading)
}

/** The policies in texts that were read from the path. */
export function policiesIn(texts: readonly SourceText[], path: string, reading: ReadPolicies): PolicyFiles {
  const { names, namespace, note, log } = reading
  const documentsIn = (text: string): readonly ReadDocument[] => {
    const read = reading.known?.get(text) ?? readDocuments(text, names, { namespace, maxCharacters: MAX_CHARACTERS })
    reading.known?.set(text, read)
    return read
  }
  const policies = new Map<string, PlacedPolicy>()
  const others: { readonly value: unknown; readonly source: string }[] = []
  const targeting: { readonly what: string; readonly value: unknown }[] = []
  const entries: unknown[] = []
  const errors: string[] = []
  const sources = texts.map(({ name }) => name)
  for (const { name, text } of texts) {
    for (const document of documentsIn(text)) {
      const read = revalidated(document, names, namespace)
      if (read.value === null) continue
      const absent = notModelled(read.value, names)
      if (absent !== undefined) {
        const what = `${name}: ${titleOf(read.value)}: ${absent.why}`
        if (absent.matters && hasTargets(read.value)) targeting.push({ what, value: read.value })
        if (isIstio(names) && fieldsOf(read.value).kind === "ServiceEntry") entries.push(read.value)
        if (absent.isWorkload) log.miss(what)
        else if (absent.matters) log.skip(what, absent.scope)
        else note(what)
      } else if (read.value !== undefined && !isOurs(read.value, names)) {
        const isBuilt = kustomizes(read.value, name, sources)
        const why = isBuilt ? KUSTOMIZE : whyItMatters(read.value, names)
        if (why !== undefined) log.skip(`${name}: ${titleOf(read.value)}: ${why}`)
        if (!isPolicyTest(read.value)) others.push({ value: read.value, source: name })
      } else if (read.document === undefined) {
        errors.push(...read.errors.map(error => showFinding(name, text, error)))
      } else {
        const { kind, metadata } = read.document
        const id = `${kind} ${metadata.namespace}/${metadata.name}`
        if (policies.has(id)) note(`${name}: ${id} is there twice; the later one counts, as when it is applied`)
        policies.set(id, { document: read.document, source: name, locate: path => read.locate(path) })
      }
    }
  }
  if (errors.length > 0)
    throw new CommandError("invalid-document", `${errors.join("\n")}\n\`${path}\` cannot be read as a set of policies`)
  const placed = [...policies.values()]
  return {
    policies: placed.map(({ document }) => document),
    placed,
    others,
    entries,
    targeting,
    isEmpty: texts.length === 0,
  }
}

/** Logs a path that contributed nothing: no policy, and no workload if workloads are wanted too. */
export function logIfUseless(path: string, files: PolicyFiles, log: InputLog, wanted: "policy" | "either"): void {
  const { policies, others } = files
  const hasWorkload = others.some(({ value }) => isWorkload(value))
  if (policies.length > 0 || (wanted === "either" && hasWorkload)) return
  log.skip(`${path}: it holds no policy of the mesh${wanted === "either" ? " and no workload" : ""}`)
}

function isWorkload(value: unknown): boolean {
  const { kind } = fieldsOf(value)
  return kind === "Service" || WORKLOAD_KINDS.includes(textOf(kind) ?? "")
}

/** A repository may hold thousands of them. */
const MOST_NAMED = 5

/** Notes the documents of other kinds: each one, or how many of each kind. */
export function noteOthers(path: string, others: PolicyFiles["others"], note: (text: string) => void): void {
  if (others.length <= MOST_NAMED) {
    for (const { value, source } of others) note(`${source}: ${titleOf(value)} is ignored: it is not a policy`)
    return
  }
  const counts = new Map<string, number>()
  for (const { value } of others) {
    const kind = textOf(fieldsOf(value).kind) ?? NO_KIND
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const counted = [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ")
  note(`${path}: ${others.length} documents are ignored, as they are not policies: ${counted}`)
}

const NO_KIND = "without kind"

function titleOf(value: unknown): string {
  const { kind, metadata } = fieldsOf(value)
  const name = textOf(fieldsOf(metadata).name)
  return `${textOf(kind) ?? "a document without kind"}${name === undefined ? "" : ` ${name}`}`
}

function isOurs(value: unknown, { securityGroup, networkingGroup }: MeshNames): boolean {
  const group = textOf(fieldsOf(value).apiVersion)?.split("/")[0]
  return group === securityGroup || group === networkingGroup
}

/** Reads an invariant in Merlon's group, or targets of Istio, which the schemas of the mesh do not have. */
function revalidated(document: ReadDocument, names: MeshNames, namespace: string): ReadDocument {
  const { value } = document
  const locate: ReadDocument["locate"] = path => document.locate(path)
  if (isOurInvariant(value, names)) {
    const ours = { ...fieldsOf(value), apiVersion: `${names.securityGroup}/${names.version}` }
    return { value: ours, locate, ...located(document, validate(ours, names, { namespace })) }
  }
  if (!isTargetingPolicy(value, names)) return document
  return { value, locate, ...located(document, validateTargeting(value, names, { namespace })) }
}

function located(document: ReadDocument, { errors, ...validation }: Validation): Validation {
  return {
    ...validation,
    errors: errors.map(error => {
      const position = document.locate(error.at)
      return position === undefined ? error : { ...error, position }
    }),
  }
}

/** Reads a path. Also for files that are not policies. */
export async function readSource(path: string, log: InputLog): Promise<readonly SourceText[]> {
  if (path === "-") return [{ name: "standard input", text: await standardInput() }]
  const found = await stat(path).catch(() => undefined)
  if (found === undefined && /^[^/].*:/.test(path)) {
    return new GitRevision(path, TELLING_KINDS, what => log.skip(what)).texts()
  }
  await checkInBounds(path)
  // A folder without files is an empty set of policies: a mesh may start with one.
  const files = found?.isDirectory() === true ? await filesIn(path, { recursive: true }) : undefined
  if (files !== undefined) await logUnread(files, TELLING_KINDS, log)
  const names = files?.manifests ?? [path]
  return Promise.all(names.map(async name => ({ name, text: await readText(name) })))
}

/** Logs files of a folder that are skipped and may contain what was asked for. */
export async function logUnread(
  { others, broken }: FolderFiles,
  kinds: readonly string[],
  log: InputLog,
): Promise<void> {
  for (const name of broken) log.skip(`${name}: it is a link that leads nowhere`)
  for (const name of others) {
    if (/(^|\/)(\.git|node_modules)\//.test(name)) continue
    try {
      const kind = await kindIn(name, kinds)
      if (kind !== undefined) log.skip(`${name}: ${otherName(kind)}`)
      else if (isCompressed(name)) log.skip(`${name}: ${COMPRESSED}`)
    } catch (error) {
      log.skip(`${name}: it cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
