// SPDX-License-Identifier: Apache-2.0
// Leads what tests of whole systems import from the sources of a package to what was built of them, which Node loads by itself:
// to translate it took a quarter of the work of loading these tests. What is not built, as what lies in `testing`, stays as it is.

import { existsSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Plugin } from "vite"

const SOURCES = /(\/packages\/[^/]+)\/src\//

export const builtOfSources: Plugin = {
  name: "built-of-sources",
  enforce: "pre",
  resolveId(id, importer) {
    if (importer === undefined || !id.startsWith(".")) return undefined
    const source = resolve(dirname(importer), id).replaceAll("\\", "/")
    const built = source.replace(SOURCES, "$1/dist/")
    return built !== source && existsSync(built) ? built : undefined
  },
}
