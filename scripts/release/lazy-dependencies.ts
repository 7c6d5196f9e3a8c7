// SPDX-License-Identifier: Apache-2.0
// Two dependencies read Unicode tables when they are loaded: the width of text on a screen, which took a tenth of a
// command's runtime, and RE2's letter classes, which a proxy never needs, because it compiles no expressions of
// MeshServices. Bundles load them on first use; plain ASCII is as wide as it is long.

import { resolve } from "node:path"
import type { Plugin } from "esbuild"

const LAZY: Readonly<Record<string, string>> = {
  "string-width": `let loaded
export default text => (/^[ -~]*$/.test(text) ? text.length : (loaded ??= require("string-width").default)(text))`,
  re2js: `let loaded
export const RE2JS = new Proxy({}, { get: (_, name) => (loaded ??= require("re2js").RE2JS)[name] })`,
}
const filter = new RegExp(`^(${Object.keys(LAZY).join("|")})$`)

export const lazyDependencies: Plugin = {
  name: "lazy-dependencies",
  setup(plugin) {
    plugin.onResolve({ filter }, ({ path, namespace }) =>
      namespace === "lazy" ? undefined : { path, namespace: "lazy" },
    )
    plugin.onLoad({ filter, namespace: "lazy" }, ({ path }) => ({
      contents: LAZY[path] ?? "",
      loader: "js",
      resolveDir: resolve("packages/cli"),
    }))
  },
}
