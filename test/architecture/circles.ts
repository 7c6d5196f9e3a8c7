// SPDX-License-Identifier: Apache-2.0
// Finds import cycles between folders. Files that import each other can only be read, moved and tested together. Type
// imports count too, because readers follow them as well.

import { importsOf, type SourceFile } from "./layers.js"

/** Returns groups of files that reach each other by imports, each group sorted, the groups by their first file. */
export function circles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const imported = new Map(files.map(file => [file.path, targetsOf(file)]))
  const order = new Map<string, number>()
  const path: string[] = []
  const found: string[][] = []

  // Tarjan's algorithm: a file from which no older file on the path can be reached completes its group.
  function visit(file: string): number {
    const own = order.size
    order.set(file, own)
    path.push(file)
    let low = own
    for (const target of imported.get(file) ?? []) {
      if (!imported.has(target)) continue
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (path.includes(target)) low = Math.min(low, order.get(target) ?? own)
    }
    if (low === own) {
      const group = path.splice(path.indexOf(file))
      if (group.length > 1 || imported.get(file)?.includes(file)) found.push(group.sort())
    }
    return low
  }
  for (const file of imported.keys()) if (!order.has(file)) visit(file)
  return found.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))
}

function targetsOf({ path, text }: SourceFile): readonly string[] {
  return importsOf(text)
    .filter(specifier => specifier.startsWith("."))
    .map(specifier => new URL(specifier, `file:///${path}`).pathname.slice(1))
    .flatMap(target => [target.replace(/\.js$/, ".ts"), target.replace(/\.js$/, ".tsx")])
}
