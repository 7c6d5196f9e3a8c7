// SPDX-License-Identifier: Apache-2.0
// The folder of our bundled programs, with a list of the packages in them. It is the folder of `npm run build`: file
// names in it depend on the relative path to the sources, and on nothing outside this repository.

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Entry } from "../image/tar.js"
import { entriesOf } from "./archive.js"
import { bundlePrograms } from "./bundling.js"
import { bundledComponents, type Component, componentsIn, readLock } from "./components.js"

/** The output of `npm run build`. */
export const BUILT = "packages/cli/bundle"
/** A folder next to it, for a process that builds another bundle. */
export const TEMPORARY_BUNDLE = `${BUILT}.${process.pid}`

const LIST = "packages.json"

export async function makeBundle(folder: string): Promise<void> {
  const components = bundledComponents(await bundlePrograms(folder), readLock())
  // Used for the list of an image's contents, and to find licences for a release.
  const packages = components.map(({ name, version, licence, folder }) => ({ name, version, license: licence, folder }))
  writeFileSync(join(folder, LIST), JSON.stringify(packages, undefined, 2))
}

export function componentsOfBundle(folder: string): readonly Component[] {
  const listed: readonly { readonly folder: string }[] = JSON.parse(readFileSync(join(folder, LIST), "utf8"))
  return componentsIn(
    listed.map(({ folder }) => folder),
    readLock(),
  )
}

/** Only the programs: source maps are useless without the sources. */
export function programsOfBundle(folder: string, prefix: string): readonly Entry[] {
  return entriesOf(folder, prefix).filter(({ path }) => !path.endsWith(".map") && path !== `${prefix}${LIST}`)
}
