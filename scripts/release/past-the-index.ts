// SPDX-License-Identifier: Apache-2.0
// Leads each import of one of our packages to the file that makes what is imported. By way of the package's index a program
// would load everything that the index names, because a bundle is cut into pieces between files and never within one: a
// command that lists Pods loaded the whole control plane.

import { existsSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { Plugin } from "esbuild"

interface Source {
  readonly file: string
  /** As that file calls it. */
  readonly name: string
}

const OURS = /[/\\]packages[/\\][^/\\]+[/\\]src[/\\].*\.tsx?$/
/** What a file may begin with: comments, and imports up to the name of their module. */
const HEAD = /(?:\s|#!.*|\/\/.*|\/\*[\s\S]*?\*\/|import\b[^"']*(?:"[^"]*"|'[^']*');?)*/y
const IMPORT = /^import (\{[^}]*\}) from "(@merlon\/[a-z]+)"/gm
/** Every way to name one of our packages that counts when a program runs, at the beginning of a line. */
const NAMES_OURS = /^[ \t]*(?:import|export)(?! type\b)\b[^"';()]*["']@merlon\/[^"']*["']/gm
const NAMED = /^export (\{[^}]*\}) from "(\.[^"]+)"/gm
const STAR = /^export \* from "(\.[^"]+)"/gm
/** All that a file may hold through which imports are led: whatever it did beside that would not happen. */
const LEADS_ON = /^(?:\s|\/\/.*|\/\*[\s\S]*?\*\/|export (?:type )?(?:\{[^}]*\}|\*) from "\.[^"]+";?)*$/
const DECLARED = /^export (?:async )?(?:abstract )?(?:const|function\*?|class|enum) (\w+)/gm

const known = new Map<string, ReadonlyMap<string, Source>>()

export const pastTheIndex: Plugin = {
  name: "past-the-index",
  setup(plugin) {
    plugin.onLoad({ filter: OURS }, async ({ path }) => ({
      contents: redirected(await readFile(path, "utf8")),
      loader: path.endsWith("x") ? "tsx" : "ts",
    }))
  },
}

/** Line by line as before, for whoever reads a stack trace. */
export function redirected(text: string, packages = "packages"): string {
  checkImports(text)
  return text.replace(IMPORT, (all: string, names: string, from: string) => {
    const index = resolve(packages, from.replace("@merlon/", ""), "src/index.ts")
    if (!existsSync(index)) return all
    const sources = exportsOf(index)
    const lines = valuesIn(names).map(({ name, as }) => {
      const source = sources.get(name)
      if (source === undefined) throw new Error(`${from} exports no ${name} that can be found by reading it`)
      return `import { ${source.name} as ${as} } from ${JSON.stringify(source.file)}`
    })
    return lines.join(";") + "\n".repeat(all.split("\n").length - 1)
  })
}

/**
 * What is found here is found by its form and not by its meaning. Throws where the two could differ: in what may be a text, and
 * not an import, and at imports of another form, by which everything would be loaded again without anybody noticing.
 */
function checkImports(text: string): void {
  HEAD.lastIndex = 0
  const end = HEAD.exec(text)?.[0].length ?? 0
  for (const { 0: found, index } of text.matchAll(NAMES_OURS)) {
    IMPORT.lastIndex = 0
    if (index >= end) throw new Error(`\`${found.trim()}\` comes after code, and may be a text; imports come first`)
    if (IMPORT.exec(found) === null) throw new Error(`\`${found.trim()}\` must have the form \`import { … } from "…"\``)
  }
  IMPORT.lastIndex = 0
}

/** By name, the file behind each value that a file exports; types are nothing when a program runs. */
function exportsOf(file: string): ReadonlyMap<string, Source> {
  const before = known.get(file)
  if (before !== undefined) return before
  const text = readFileSync(file, "utf8")
  const found = new Map<string, Source>()
  const leadsOn = text.search(NAMED) >= 0 || text.search(STAR) >= 0
  if (leadsOn && !LEADS_ON.test(text))
    throw new Error(`${file} exports what is another's, and may do nothing beside that`)
  for (const [, from = ""] of text.matchAll(STAR)) {
    for (const [name, source] of exportsOf(beside(file, from))) found.set(name, source)
  }
  for (const [, names = "", from = ""] of text.matchAll(NAMED)) {
    const inside = exportsOf(beside(file, from))
    for (const { name, as } of valuesIn(names)) found.set(as, inside.get(name) ?? { file: beside(file, from), name })
  }
  for (const [, name = ""] of text.matchAll(DECLARED)) found.set(name, { file, name })
  known.set(file, found)
  return found
}

function valuesIn(names: string): readonly { readonly name: string; readonly as: string }[] {
  return names
    .replace(/[{}]/g, "")
    .split(",")
    .map(one => one.trim())
    .filter(one => one !== "" && !one.startsWith("type "))
    .map(one => {
      const [name = "", as = name] = one.split(" as ")
      return { name, as }
    })
}

function beside(file: string, from: string): string {
  const path = join(dirname(file), from)
  return [path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")].find(existsSync) ?? path
}
