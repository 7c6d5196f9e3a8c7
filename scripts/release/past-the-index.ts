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
const IMPORT = /^import (\{[^}]*\}) from "(@merlon\/[a-z]+)"/gm
const NAMED = /^export (\{[^}]*\}) from "(\.[^"]+)"/gm
const STAR = /^export \* from "(\.[^"]+)"/gm
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
export function redirected(text: string): string {
  return text.replace(IMPORT, (all: string, names: string, from: string) => {
    const index = resolve("packages", from.replace("@merlon/", ""), "src/index.ts")
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

/** By name, the file behind each value that a file exports; types are nothing when a program runs. */
function exportsOf(file: string): ReadonlyMap<string, Source> {
  const before = known.get(file)
  if (before !== undefined) return before
  const text = readFileSync(file, "utf8")
  const found = new Map<string, Source>()
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
