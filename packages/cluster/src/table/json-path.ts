// SPDX-License-Identifier: Apache-2.0
// The simple JSON paths of printer columns: fields, quoted fields, indexes, wildcards and equality filters. A path that
// does not exist has no results.

import { getKey, isObject, type Json } from "../value.js"

const step =
  /\.([A-Za-z0-9_\-/]+(?:\\\.[A-Za-z0-9_\-/]+)*)|\['((?:[^'\\]|\\.)*)'\]|\[(-?\d+)\]|(\[\*\]|\.\*)|\[\?\(@\.([A-Za-z0-9_.]+)\s*==\s*["']([^"']*)["']\)\]/y

export function evaluatePath(root: Json, path: string): Json[] {
  let nodes: Json[] = [root]
  // A filter evaluates its own path with the same regular expression, so the position in this path is stored here.
  let at = 0
  while (at < path.length) {
    step.lastIndex = at
    const match = step.exec(path)
    if (match === null) return []
    at = step.lastIndex
    const [, field, quoted, index, wildcard, filterPath, filterValue] = match
    const name = field?.replaceAll("\\.", ".") ?? quoted
    nodes = nodes.flatMap(node => {
      if (name !== undefined) {
        const value = isObject(node) ? getKey(node, name) : undefined
        return value === undefined ? [] : [value]
      }
      if (index !== undefined) {
        const value = Array.isArray(node) ? node.at(Number(index)) : undefined
        return value === undefined ? [] : [value]
      }
      if (wildcard !== undefined) return Array.isArray(node) ? node : isObject(node) ? Object.values(node) : []
      if (filterPath !== undefined)
        return Array.isArray(node)
          ? node.filter(item => `${evaluatePath(item, `.${filterPath}`)[0] as string}` === filterValue)
          : []
      return []
    })
  }
  return nodes
}
