// SPDX-License-Identifier: Apache-2.0
// Two dependencies read tables of Unicode when they are loaded: how wide a text is on a screen, a tenth of what a command of
// a person took, and RE2's classes of letters, which a proxy never asks for, since it compiles no expression of a
// MeshService. In a program they are loaded by the first who asks; plain ASCII is as wide as it is long.

import { resolve } from "node:path"
import type { Plugin } from "esbuild"

const LATER: Readonly<Record<string, string>> = {
  "string-width": `let asked
export default text => (/^[ -~]*$/.test(text) ? text.length : (asked ??= require("string-width").default)(text))`,
  re2js: `let asked
export const RE2JS = new Proxy({}, { get: (_, name) => (asked ??= require("re2js").RE2JS)[name] })`,
}
const filter = new RegExp(`^(${Object.keys(LATER).join("|")})$`)

export const loadedLater: Plugin = {
  name: "loaded-later",
  setup(plugin) {
    plugin.onResolve({ filter }, ({ path, namespace }) =>
      namespace === "later" ? undefined : { path, namespace: "later" },
    )
    plugin.onLoad({ filter, namespace: "later" }, ({ path }) => ({
      contents: LATER[path] ?? "",
      loader: "js",
      resolveDir: resolve("packages/cli"),
    }))
  },
}
