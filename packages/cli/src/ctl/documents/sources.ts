// SPDX-License-Identifier: Apache-2.0
// The texts that `-f` names: files, folders, standard input.

import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { CommandError, usageError } from "../exit.js"

export interface SourceText {
  /** For messages. */
  readonly name: string
  readonly text: string
}

const EXTENSIONS = /\.(ya?ml|json)$/i
const MAX_BYTES = 64 << 20

export function readSources(
  paths: readonly string[],
  recursive: boolean,
  standardInput = () => readFileSync(0, "utf8"),
): readonly SourceText[] {
  if (paths.length === 0) throw usageError("say what to read: `-f FILE`, `-f FOLDER`, or `-f -` for standard input")
  if (paths.filter(path => path === "-").length > 1)
    throw usageError("standard input can be read once: write `-f -` once")
  return paths.flatMap(path =>
    path === "-" ? [{ name: "standard input", text: standardInput() }] : read(path, recursive),
  )
}

function read(path: string, recursive: boolean): readonly SourceText[] {
  if (/^https?:\/\//i.test(path)) {
    throw usageError(`\`${path}\` is not fetched; look at it first, then \`curl -fsS ${path} | merlonctl apply -f -\``)
  }
  try {
    if (!statSync(path).isDirectory()) return [{ name: path, text: readText(path) }]
    const files = filesIn(path, recursive)
    if (files.length > 0) return files.map(name => ({ name, text: readText(name) }))
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { code, message } = error as NodeJS.ErrnoException // what node:fs throws
    throw new CommandError(code === "ENOENT" ? `there is no \`${path}\`` : `cannot read \`${path}\`: ${message}`)
  }
  throw new CommandError(
    `\`${path}\` has no file that ends in .yaml, .yml or .json${recursive ? "" : "; `-R` looks into its folders too"}`,
  )
}

function filesIn(folder: string, recursive: boolean): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return recursive ? filesIn(path, recursive) : []
    return EXTENSIONS.test(entry.name) ? [path] : []
  })
}

function readText(file: string): string {
  if (statSync(file).size > MAX_BYTES) throw new CommandError(`\`${file}\` has more than ${MAX_BYTES} bytes`)
  return readFileSync(file, "utf8")
}
