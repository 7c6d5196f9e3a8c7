// SPDX-License-Identifier: Apache-2.0
// The texts that `-f` names: files, folders, standard input.

import { readdir, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import { checkInBounds } from "../confinement.js"
import { CommandError, usageError } from "../exit.js"
import { readText, standardInput } from "../read-text.js"

export interface SourceText {
  /** The name in messages. */
  readonly name: string
  readonly text: string
}

const EXTENSIONS = /\.(ya?ml|json)$/i

export const isManifestName = (name: string): boolean => EXTENSIONS.test(name)

export async function readSources(
  paths: readonly string[],
  recursive: boolean,
  input: () => Promise<string> = standardInput,
): Promise<readonly SourceText[]> {
  if (paths.length === 0) throw usageError("say what to read: `-f FILE`, `-f FOLDER`, or `-f -` for standard input")
  if (paths.filter(path => path === "-").length > 1) {
    throw usageError("standard input can be read once: write `-f -` once")
  }
  const texts: SourceText[] = []
  for (const path of paths) {
    if (path === "-") texts.push({ name: "standard input", text: await input() })
    else for (const name of await filesOf(path, recursive)) texts.push({ name, text: await readText(name) })
  }
  return texts
}

async function filesOf(path: string, recursive: boolean): Promise<readonly string[]> {
  if (/^https?:\/\//i.test(path)) {
    throw usageError(`\`${path}\` is not fetched; look at it first, then \`curl -fsS ${path} | merlonctl apply -f -\``)
  }
  const found = await stat(path).catch(() => undefined)
  // Errors of a file are reported when it is read.
  if (found?.isDirectory() !== true) return [path]
  const { manifests } = await filesIn(path, { recursive })
  if (manifests.length > 0) return manifests
  throw new CommandError(
    "no-documents",
    `\`${path}\` has no file that ends in .yaml, .yml or .json${recursive ? "" : "; `-R` looks into its folders too"}`,
  )
}

export interface FolderFiles {
  /** Files whose names say that they contain documents. */
  readonly manifests: readonly string[]
  /** All other files. */
  readonly others: readonly string[]
  /** Broken symlinks. */
  readonly broken: readonly string[]
}

export interface FolderOptions {
  readonly recursive: boolean
  readonly enters?: (folderName: string) => boolean
}

/** Sorted by name. Symlinked folders are entered too, but each folder only once, so that cycles end. */
export async function filesIn(
  folder: string,
  { recursive, enters = () => true }: FolderOptions,
  entered = new Set<string>(),
): Promise<FolderFiles> {
  const found = { manifests: [] as string[], others: [] as string[], broken: [] as string[] }
  await checkInBounds(folder)
  const here = await realpath(folder)
  if (entered.has(here)) return found
  entered.add(here)
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    const path = join(folder, entry.name)
    const kind = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry
    if (kind === undefined) found.broken.push(path)
    else if (kind.isDirectory()) {
      if (!recursive || !enters(entry.name)) continue
      const below = await filesIn(path, { recursive, enters }, entered)
      for (const list of ["manifests", "others", "broken"] as const) found[list].push(...below[list])
    } else if (isManifestName(entry.name)) found.manifests.push(path)
    else if (kind.isFile()) found.others.push(path)
  }
  return found
}
