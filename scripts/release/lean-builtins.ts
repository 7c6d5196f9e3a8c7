// SPDX-License-Identifier: Apache-2.0
// Importing a Node module evaluates all its exports, even lazy ones: fetch and WebSockets in `node:http`, Web Crypto in
// `node:crypto`. A bundle requires these modules instead and uses only the names that it needs, so a proxy needs less
// memory and starts faster.

import { createRequire } from "node:module"
import type { Plugin } from "esbuild"

const require = createRequire(import.meta.url)

export const leanBuiltins: Plugin = {
  name: "lean-builtins",
  setup(plugin) {
    plugin.onResolve({ filter: /^(node:)?(http|crypto)$/ }, ({ path, kind }) =>
      kind === "import-statement"
        ? { path: path.replace(/^node:/, ""), namespace: "lean-builtins", sideEffects: false }
        : undefined,
    )
    plugin.onLoad({ filter: /.*/, namespace: "lean-builtins" }, ({ path }) => {
      const names = Object.entries(Object.getOwnPropertyDescriptors(require(`node:${path}`)))
        .filter(([, descriptor]) => "value" in descriptor)
        .map(([name]) => name)
      // As functions without side effects, so that unused names are removed.
      const each = names.map(name => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})()`)
      return { contents: [`const builtin = require("node:${path}")`, ...each].join("\n"), loader: "js" }
    })
  },
}
