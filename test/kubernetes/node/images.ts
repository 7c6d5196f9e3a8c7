// SPDX-License-Identifier: Apache-2.0
// The images of a node: ours and the samples', built from this working tree for this machine.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { ARCHITECTURE } from "./kubernetes-node.js"

export interface Images {
  readonly image: string
  readonly samplesImage: string
  readonly archives: readonly string[]
}

export function imagesOfThisTree(): Images {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"))
  const archives = [`dist/merlon-${version}.tar`, `dist/merlon-samples-${version}.tar`]
  return { image: `merlon:${version}`, samplesImage: `merlon-samples:${version}`, archives }
}

/** Requires an earlier `npm run build`. */
export function buildImages(): Images {
  const build = ["tsx", "scripts/image.ts", "--samples", "--architecture", ARCHITECTURE]
  execFileSync("npx", build, { stdio: ["ignore", "inherit", "inherit"] })
  return imagesOfThisTree()
}
