// SPDX-License-Identifier: Apache-2.0
// The packages in an artefact: those whose files are in a bundle, or that a library needs, with version, licence and
// digest from the lock. The bill of materials (CycloneDX 1.6) and the licence notices are generated from them.

import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Metafile } from "esbuild"

export interface Component {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly licence: string
  /** From the lock: `sha512-…` in base64. */
  readonly integrity: string | undefined
  readonly folder: string
}

interface Locked {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

type Lock = Readonly<Record<string, Locked>>

export function readLock(): Lock {
  return JSON.parse(readFileSync("package-lock.json", "utf8")).packages
}

export function bundledComponents(metafile: Metafile, lock: Lock): readonly Component[] {
  const folders = new Set(
    Object.values(metafile.outputs)
      .flatMap(({ inputs }) => Object.keys(inputs))
      .flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  )
  const found = [...folders].sort().map(folder => componentAt(folder, lock))
  // The same version may be in two folders.
  return [...new Map(found.map(component => [reference(component), component])).values()]
}

/** For folders that are already known. */
export function componentsIn(folders: readonly string[], lock: Lock): readonly Component[] {
  return folders.map(folder => componentAt(folder, lock))
}

/** The dependencies of a library, including indirect ones. */
export function neededComponents(names: readonly string[], lock: Lock): readonly Component[] {
  const found = new Set<string>()
  const visit = (name: string, from: string): void => {
    const folder = [`${from}/node_modules/${name}`, `node_modules/${name}`].find(path => lock[path] !== undefined)
    if (folder === undefined || found.has(folder)) return
    found.add(folder)
    for (const next of Object.keys(lock[folder]?.dependencies ?? {})) visit(next, folder)
  }
  for (const name of names) visit(name, "")
  return [...found].sort().map(folder => componentAt(folder, lock))
}

function componentAt(folder: string, lock: Lock): Component {
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length)
  const { version, license, integrity } = lock[folder] ?? {}
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const licence = license ?? manifest.license
  if (typeof licence !== "string") throw new Error(`${folder} does not say under which licence it comes`)
  return { name, version: version ?? manifest.version, licence, integrity, folder }
}

export interface Subject {
  readonly name: string
  readonly version: string
  readonly description: string
}

/** Without time and randomness: the same components give the same bytes. */
export function billOfMaterials({ name, version, description }: Subject, components: readonly Component[]): string {
  const listed = components.map(component => ({
    type: "library",
    "bom-ref": reference(component),
    name: component.name,
    version: component.version,
    licenses: [
      /^[A-Za-z0-9.-]+$/.test(component.licence)
        ? { license: { id: component.licence } }
        : { expression: component.licence },
    ],
    purl: reference(component),
    ...(component.integrity?.startsWith("sha512-") === true
      ? { hashes: [{ alg: "SHA-512", content: Buffer.from(component.integrity.slice(7), "base64").toString("hex") }] }
      : {}),
  }))
  const digest = createHash("sha256")
    .update(JSON.stringify([name, version, listed]))
    .digest("hex")
  const root = `pkg:npm/${name.replace("@", "%40")}@${version}`
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(digest)}`,
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": root,
        name,
        version,
        description,
        licenses: [{ license: { id: "Apache-2.0" } }],
        purl: root,
      },
    },
    components: listed,
    dependencies: [
      { ref: root, dependsOn: listed.map(({ purl }) => purl) },
      ...listed.map(({ purl }) => ({ ref: purl, dependsOn: [] })),
    ],
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

function reference({ name, version }: Component): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`
}

/** A name-based UUID (RFC 9562, section 5.8), from a digest. */
function uuidOf(digest: string): string {
  const variant = ((Number.parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(18, 20)}`,
    digest.slice(20, 32),
  ].join("-")
}

/** The texts of the licences, by package. */
export function thirdPartyNotices(components: readonly Component[]): string {
  const parts = components.map(({ name, version, licence, folder }) => {
    const files = existsSync(folder)
      ? readdirSync(folder).filter(file => /^(licen[cs]e|notice|copying)/i.test(file))
      : []
    const texts = files.sort().map(file => readFileSync(join(folder, file), "utf8").trim())
    return [`${name} ${version} (${licence})`, "", ...texts].join("\n")
  })
  const line = `\n\n${"-".repeat(80)}\n\n`
  return `This product contains the following packages.${line}${parts.join(line)}\n`
}
