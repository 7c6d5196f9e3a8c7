// SPDX-License-Identifier: Apache-2.0
// The page as `npm run build` wrote it. A bundle replaces this file with one that contains the page.

import { readdirSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Assets, assetsOf } from "./assets.js"

/** Undefined if it has not been built. */
export function builtPage(): Assets | undefined {
  const folder = fileURLToPath(new URL("../../page/", import.meta.url))
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return undefined
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
  return assetsOf(
    names
      .filter(name => statSync(folder + name).isFile())
      .map(name => [name.replaceAll("\\", "/"), readFileSync(folder + name)]),
  )
}
