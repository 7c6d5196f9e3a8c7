// SPDX-License-Identifier: Apache-2.0
// Embeds the console's page in a bundle as text: an executable and an image have no folder next to them.

import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Plugin } from "esbuild"
import { PAGE_FOLDER } from "./page.js"

export const embedPage: Plugin = {
  name: "embed-page",
  setup(plugin) {
    plugin.onLoad({ filter: /packages\/console\/src\/server\/built-page\.ts$/ }, () => {
      const files = readdirSync(PAGE_FOLDER, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name))
        .sort()
        .map(path => [path.slice(PAGE_FOLDER.length + 1), readFileSync(path, "base64")])
      const contents = `import { assetsOf } from "./assets.js"
const files = ${JSON.stringify(files)}
export const builtPage = () => assetsOf(files.map(([name, text]) => [name, Buffer.from(text, "base64")]))`
      return { contents, loader: "js", resolveDir: resolve("packages/console/src/server") }
    })
  },
}
