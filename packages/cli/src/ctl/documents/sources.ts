// SPDX-License-Identifier: Apache-2.0
// The texts that `-f` names: files, folders, standard input.

import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { CommandError, usageError } from "../exit.js"
import { readText, standardInput } from "../read-text.js"

export interface SourceText {
  /** For messages. */
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
  // What is wrong with a file is told when it is read.
  if (found?.isDirectory() !== true) return [path]
  const files = await filesIn(path, recursive)
  if (files.length > 0) return files
  throw new CommandError(
    `\`${path}\` has no file that ends in .yaml, .yml or .json${recursive ? "" : "; `-R` looks into its folders too"}`,
  )
}

/** Those that hold documents, by their names. */
export async function filesIn(
  folder: string,
  recursive: boolean,
  enters: (folderName: string) => boolean = () => true,
): Promise<readonly string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))
  const files: string[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) files.push(...(recursive && enters(entry.name) ? await filesIn(path, true, enters) : []))
    else if (EXTENSIONS.test(entry.name)) files.push(path)
  }
  return files
}
