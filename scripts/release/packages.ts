// SPDX-License-Identifier: Apache-2.0
// The npm packages: `merlon`, our programs with all dependencies included, so that installing it downloads nothing
// else; and `@merlon/policy`, the library, and `@merlon/proof-check`, which auditors read as compiled, both with their
// dependencies listed for npm.

import { readFileSync } from "node:fs"
import type { ShellFile } from "@merlon/cli"
import type { Entry } from "../image/tar.js"
import { entriesOf, type FileEntry, file, tarGz } from "./archive.js"
import { componentsOfBundle, programsOfBundle } from "./bundle-folder.js"
import { type Component, neededComponents, readLock, thirdPartyNotices } from "./components.js"

export interface Packed {
  readonly archive: Buffer
  readonly components: readonly Component[]
}

const copy = (path: string, from: string): FileEntry => file(path, readFileSync(from))
const json = (path: string, value: object): FileEntry => file(path, `${JSON.stringify(value, undefined, 2)}\n`)

export const LEGAL = ["LICENSE", "NOTICE"] as const

/**
 * The samples without their sources: everything that the documentation names, and the programs if Node runs them. Their
 * schemas are next to them.
 */
export function sampleEntries(prefix: string, withPrograms: boolean): readonly Entry[] {
  const kinds = ["manifests", "policies", "keys", "answers", "shop", ...(withPrograms ? ["dist"] : [])]
  const samples = kinds
    .flatMap(kind => entriesOf(`samples/${kind}`, `${prefix}samples/${kind}/`))
    .filter(({ path }) => !/\.(map|d\.ts|tsbuildinfo)$|\.test\.js$/.test(path))
  return [...samples, ...entriesOf("schemas", `${prefix}schemas/`)]
}

/** From a folder with bundled programs. */
export function programsPackage(version: string, bundle: string, shell: readonly ShellFile[]): Packed {
  const components = componentsOfBundle(bundle)
  const { engines, description } = JSON.parse(readFileSync("package.json", "utf8"))
  const manifest = {
    name: "merlon",
    version,
    description,
    license: "Apache-2.0",
    type: "module",
    bin: {
      merlond: "bin/merlond.js",
      merlonctl: "bin/merlonctl.js",
      "kubectl-merlon": "bin/merlonctl.js",
      "proof-check": "bin/proof-check.js",
    },
    // npm links them for `man` when the package is installed globally.
    man: shell.filter(({ path }) => path.includes("/man/")).map(({ path }) => `./${path}`),
    engines,
    os: ["linux", "darwin"],
  }
  const entries = [
    json("package/package.json", manifest),
    ...LEGAL.map(name => copy(`package/${name}`, name)),
    copy("package/README.md", "README.md"),
    file("package/THIRD_PARTY_NOTICES", thirdPartyNotices(components)),
    ...entriesOf("packages/cli/bin", "package/bin/").map(entry => ({ ...entry, mode: 0o755 })),
    ...programsOfBundle(bundle, "package/bundle/").map(withoutMapComment),
    ...shell.map(({ path, text }) => file(`package/${path}`, text)),
    ...sampleEntries("package/", true),
  ]
  return { archive: tarGz(entries), components }
}

/** Run this after `tsc -b`. */
export function policyPackage(version: string): Packed {
  const source = manifestOf("policy")
  const { engines, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"))
  const manifest = {
    name: source.name,
    version,
    description: source.description,
    license: source.license,
    type: "module",
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    engines,
    sideEffects: false,
    // Its types refer to Node's, so a compiler needs those to check everything.
    dependencies: { ...source.dependencies, "@types/node": devDependencies["@types/node"] },
  }
  const components = neededComponents(Object.keys(source.dependencies), readLock())
  const entries = [
    json("package/package.json", manifest),
    ...LEGAL.map(name => copy(`package/${name}`, name)),
    copy("package/README.md", "packages/policy/README.md"),
    ...compiled("policy").map(withNodeTypes),
  ]
  return { archive: tarGz(entries), components }
}

/** Run this after `tsc -b`. */
export function proofCheckPackage(version: string): Packed {
  const { name, description, license, type, bin, dependencies } = manifestOf("proof-check")
  const { engines } = JSON.parse(readFileSync("package.json", "utf8"))
  const entries = [
    json("package/package.json", { name, version, description, license, type, bin, engines, dependencies }),
    ...LEGAL.map(name => copy(`package/${name}`, name)),
    copy("package/README.md", "packages/proof-check/README.md"),
    ...entriesOf("packages/proof-check/bin", "package/bin/").map(entry => ({ ...entry, mode: 0o755 })),
    ...compiled("proof-check").filter(({ path }) => path.endsWith(".js")),
  ]
  return { archive: tarGz(entries), components: neededComponents(Object.keys(dependencies), readLock()) }
}

const manifestOf = (name: string) => JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8"))

const compiled = (name: string): readonly Entry[] =>
  entriesOf(`packages/${name}/dist`, "package/dist/")
    .filter(({ path }) => !/\.map$|tsbuildinfo$|\.test\.|\/testing\//.test(path))
    .map(withoutMapComment)

/** Adds the reference by which a compiler without configured types finds Node's. */
function withNodeTypes(entry: Entry): Entry {
  if (!entry.path.endsWith(".d.ts") || entry.kind !== "file") return entry
  const declarations = entry.content.toString("utf8")
  if (!/"node:|\bBuffer\b/.test(declarations)) return entry
  return { ...entry, content: Buffer.from(`/// <reference types="node" />\n${declarations}`) }
}

function withoutMapComment(entry: Entry): Entry {
  if (!/\.(js|d\.ts)$/.test(entry.path) || entry.kind !== "file") return entry
  const content = entry.content.toString("utf8").replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n")
  return { ...entry, content: Buffer.from(content) }
}
