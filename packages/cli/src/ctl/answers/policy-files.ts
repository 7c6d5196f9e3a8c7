// SPDX-License-Identifier: Apache-2.0
// A set of policies from files: a file, a folder with its folders, standard input, or `REVISION:PATH` of the git
// repository we stand in. Documents of other kinds are passed over and told; a policy that cannot be read is an error,
// because an answer about the others would be about another set.

import { execFile } from "node:child_process"
import { stat } from "node:fs/promises"
import { promisify } from "node:util"
import type { MeshNames, PolicyDocument, Position } from "@merlon/policy"
import { isPolicyTest, readDocuments } from "@merlon/policy"
import { showFinding } from "../documents/manifests.js"
import { filesIn, isManifestName, type SourceText } from "../documents/sources.js"
import { CommandError } from "../exit.js"
import { fieldsOf, textOf } from "../foreign.js"
import { readText, standardInput } from "../read-text.js"

/** A policy with where it stands. */
export interface PlacedPolicy {
  readonly document: PolicyDocument
  /** The file; undefined where it comes from a cluster. */
  readonly source: string | undefined
  locate(path: readonly (string | number)[]): Position | undefined
}

export interface PolicyFiles {
  readonly policies: readonly PolicyDocument[]
  readonly placed: readonly PlacedPolicy[]
  /** Documents of other kinds, as they are written. */
  readonly others: readonly { readonly value: unknown; readonly source: string }[]
}

const MAX_CHARACTERS = 16 << 20

export async function readPolicyFiles(
  path: string,
  names: MeshNames,
  namespace: string,
  note: (text: string) => void,
): Promise<PolicyFiles> {
  const policies = new Map<string, PlacedPolicy>()
  const others: { readonly value: unknown; readonly source: string }[] = []
  const faults: string[] = []
  for (const { name, text } of await textsOf(path)) {
    for (const read of readDocuments(text, names, { namespace, maxCharacters: MAX_CHARACTERS })) {
      if (read.value === null) continue
      if (isPolicyTest(read.value)) continue
      if (read.value !== undefined && !isOurs(read.value, names)) {
        others.push({ value: read.value, source: name })
      } else if (read.document === undefined) {
        faults.push(...read.faults.map(fault => showFinding(name, text, fault)))
      } else {
        const { kind, metadata } = read.document
        const id = `${kind} ${metadata.namespace}/${metadata.name}`
        if (policies.has(id)) note(`${name}: ${id} is there twice; the later one counts, as when it is applied`)
        policies.set(id, { document: read.document, source: name, locate: path => read.locate(path) })
      }
    }
  }
  if (faults.length > 0) throw new CommandError(`${faults.join("\n")}\n\`${path}\` cannot be read as a set of policies`)
  const placed = [...policies.values()]
  return { policies: placed.map(({ document }) => document), placed, others }
}

export function noteOthers({ others }: PolicyFiles, note: (text: string) => void): void {
  for (const { value, source } of others) {
    const { kind, metadata } = fieldsOf(value)
    const name = textOf(fieldsOf(metadata).name)
    note(
      `${source}: ${textOf(kind) ?? "a document without kind"}${name === undefined ? "" : ` ${name}`} is passed over: it is no policy`,
    )
  }
}

function isOurs(value: unknown, { securityGroup, networkingGroup }: MeshNames): boolean {
  const group = textOf(fieldsOf(value).apiVersion)?.split("/")[0]
  return group === securityGroup || group === networkingGroup
}

/** Also for files that are no policies. */
export async function textsOf(path: string): Promise<readonly SourceText[]> {
  if (path === "-") return [{ name: "standard input", text: await standardInput() }]
  const found = await stat(path).catch(() => undefined)
  if (found === undefined && /^[^/].*:/.test(path)) return gitTexts(path)
  // A folder without files is a set without policies: a mesh may begin so.
  const files = found?.isDirectory() === true ? await filesIn(path, true) : [path]
  return Promise.all(files.map(async name => ({ name, text: await readText(name) })))
}

const run = promisify(execFile)

async function gitTexts(revisionAndPath: string): Promise<readonly SourceText[]> {
  const colon = revisionAndPath.indexOf(":")
  const revision = revisionAndPath.slice(0, colon)
  const path = revisionAndPath.slice(colon + 1)
  const git = async (...args: string[]): Promise<string> => {
    try {
      return (await run("git", args, { maxBuffer: 64 << 20 })).stdout
    } catch (error) {
      const { stderr, message } = error as { readonly stderr?: string; readonly message: string } // what execFile throws
      throw new CommandError(`there is no \`${revisionAndPath}\`, as a file or in git: ${(stderr ?? message).trim()}`)
    }
  }
  // A revision that begins with a dash would be an option; none does.
  if (revision.startsWith("-")) throw new CommandError(`\`${revision}\` is no revision`)
  const listed = await git("ls-tree", "-r", "-z", "--name-only", revision, "--", ...(path === "" ? [] : [path]))
  const names = listed.split("\0").filter(name => name !== "" && (name === path || isManifestName(name)))
  if (names.length === 0 && path !== "") await git("cat-file", "-e", revisionAndPath)
  return Promise.all(
    names.map(async name => ({ name: `${revision}:${name}`, text: await git("show", `${revision}:./${name}`) })),
  )
}
