// SPDX-License-Identifier: Apache-2.0
// `npm run image`: writes the image as an OCI archive, without a daemon and reproducibly, with its SBOM next to it. `--
// --out FOLDER` (default `dist`), `--architecture amd64` for only one architecture, `--samples` for a second image with
// the samples, which shares every layer but one.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { imageConfig, libraryFiles, programFiles, sampleFiles, systemFiles } from "./image/contents.js"
import { builtFor } from "./image/machine.js"
import { type Layer, layer, ociArchive, type Platform } from "./image/oci.js"
import { type Architecture, debianFiles, nodeFiles, readParts } from "./image/parts.js"
import { type BundledPackage, sbom } from "./image/sbom.js"

const BUNDLE = "packages/cli/bundle"
const ARCHITECTURES: readonly Architecture[] = ["amd64", "arm64"]

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "dist" },
    architecture: { type: "string" },
    samples: { type: "boolean", default: false },
    tag: { type: "string" },
  },
})
const { version } = JSON.parse(readFileSync("package.json", "utf8"))
const tag = values.tag ?? version
const chosen = ARCHITECTURES.filter(one => values.architecture === undefined || values.architecture === one)
if (chosen.length === 0) throw new Error(`\`${values.architecture}\` is none of ${ARCHITECTURES.join(", ")}`)

const parts = readParts()
const programs = layer("the programs", programFiles(BUNDLE, version))
const platforms: Platform[] = []
for (const architecture of chosen) {
  const libraries = builtFor(architecture, await debianFiles(architecture, parts))
  const node = builtFor(architecture, nodeFiles(architecture, parts))
  const own = builtFor(architecture, libraryFiles(BUNDLE, architecture))
  const base = layer("the system", [...systemFiles(), ...libraries, ...own])
  platforms.push({ architecture, layers: [base, layer("Node", node), programs] })
}

mkdirSync(values.out, { recursive: true })
write("merlon", platforms)
if (values.samples) {
  const samples = layer("the samples", sampleFiles("samples"))
  write(
    "merlon-samples",
    platforms.map(({ architecture, layers }) => ({ architecture, layers: [...layers, samples] })),
  )
}
const bundled: readonly BundledPackage[] = JSON.parse(readFileSync(join(BUNDLE, "packages.json"), "utf8"))
const bom = join(values.out, `merlon-${tag}.cdx.json`)
writeFileSync(bom, `${JSON.stringify(sbom(version, bundled, parts), null, 2)}\n`)
console.log(bom)

function write(name: string, on: readonly Platform[]): void {
  const { archive, digest } = ociArchive(imageConfig(name, tag, version), on)
  const file = join(values.out, `${name}-${tag}.tar`)
  writeFileSync(file, archive)
  const size = (layers: readonly Layer[]): string =>
    `${(layers.reduce((sum, { compressed }) => sum + compressed.length, 0) / 1e6).toFixed(1)} MB`
  console.log(`${file}  ${name}:${tag}  ${digest}`)
  for (const { architecture, layers } of on) console.log(`  ${architecture}: ${size(layers)} compressed`)
}
