// SPDX-License-Identifier: Apache-2.0
// How wide a text is on a screen is a question of tables of Unicode, and string-width reads them when it is loaded: a tenth
// of what a command of a person took. In a program it is loaded by the first text that is not plain ASCII, whose width is
// its length.

import { resolve } from "node:path"
import type { Plugin } from "esbuild"

const LATER = `let asked
export default text => (/^[ -~]*$/.test(text) ? text.length : (asked ??= require("string-width").default)(text))`

export const stringWidthLater: Plugin = {
  name: "string-width-later",
  setup(plugin) {
    plugin.onResolve({ filter: /^string-width$/ }, ({ path, namespace }) =>
      namespace === "later" ? undefined : { path, namespace: "later" },
    )
    plugin.onLoad({ filter: /^string-width$/, namespace: "later" }, () => ({
      contents: LATER,
      loader: "js",
      resolveDir: resolve("packages/cli"),
    }))
  },
}
