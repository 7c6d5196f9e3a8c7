// SPDX-License-Identifier: Apache-2.0
// Two dependencies read Unicode tables when they are loaded: the width of text on a screen, which took a tenth of a
// command's runtime, and RE2's letter classes, which a proxy never needs, because it compiles no expressions of
// MeshServices. Bundles load them on first use; plain ASCII is as wide as it is long.

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
