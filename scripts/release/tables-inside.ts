// SPDX-License-Identifier: Apache-2.0
// Embeds the API server's tables in a bundle as text, which costs nothing until one is parsed.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Plugin } from "esbuild"

const CLUSTER = fileURLToPath(new URL("../../packages/cluster/", import.meta.url))
const TABLES = join(CLUSTER, "generated")

export const tablesInside: Plugin = {
  name: "tables-inside",
  setup(plugin) {
    plugin.onLoad({ filter: /packages\/cluster\/src\/kinds\/data\.ts$/ }, () => {
      const tables = readdirSync(TABLES).map(file => [file, readFileSync(join(TABLES, file), "utf8")])
      const contents = `import { once } from "../lazy.js"
const tables = ${JSON.stringify(Object.fromEntries(tables))}
export const table = name => once(() => JSON.parse(tables[name + ".json"]))`
      return { contents, loader: "js", resolveDir: join(CLUSTER, "src/kinds") }
    })
  },
}
