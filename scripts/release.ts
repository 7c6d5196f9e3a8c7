// SPDX-License-Identifier: Apache-2.0
// `npm run release`: writes all release artefacts to dist/release, reproducibly. `--version 1.2.3` first updates the
// manifests and the changelog; `--dry-run` lists what would be written; `--only npm` omits the executables, `--only
// library` all programs. It uses the programs that `npm run build` bundled; `--anew` bundles them again, as a new
// version does.

import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { ShellFile } from "@merlon/cli"
import { BUILT, makeBundle, TEMPORARY_BUNDLE } from "./release/bundle-folder.js"
import { currentVersion } from "./release/bundling.js"
import { billOfMaterials, type Component } from "./release/components.js"
import { type Arch, makeExecutable, nodeProgram } from "./release/executable.js"
import { krewArchiveName, krewManifest } from "./release/krew.js"
import { type Packed, policyPackage, programsPackage, proofCheckPackage } from "./release/packages.js"
import { debianPackage, krewArchive, standaloneArchive } from "./release/systems.js"
import { checkVersion, lockWithVersion, notesOf, releasedChangelog, withVersion } from "./release/version.js"

const ARCHS: readonly Arch[] = ["x64", "arm64"]

const { values } = parseArgs({
  options: {
    version: { type: "string" },
    out: { type: "string", default: "dist/release" },
    only: { type: "string" },
    anew: { type: "boolean", default: false },
    "dry-run": { type: "boolean", default: false },
  },
})
if (values.only !== undefined && !["npm", "library"].includes(values.only))
  throw new Error("`--only` takes `npm` or `library`")
const dry = values["dry-run"]

const version = values.version ?? currentVersion()
if (values.version !== undefined) takeVersion(values.version)
const artefacts = new Map<string, Buffer>()
if (values.only !== "library") await addPrograms()
const policy = policyPackage(version)
add(`merlon-policy-${version}.tgz`, policy.archive)
add(`merlon-policy-${version}.cdx.json`, bill("@merlon/policy", policy))
const proofCheck = proofCheckPackage(version)
add(`merlon-proof-check-${version}.tgz`, proofCheck.archive)
add(`merlon-proof-check-${version}.cdx.json`, bill("@merlon/proof-check", proofCheck))
add("RELEASE_NOTES.md", Buffer.from(`${notesOf(readFileSync("CHANGELOG.md", "utf8"), version)}\n`))
const sums = [...artefacts]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, content]) => `${sha256(content)}  ${name}\n`)
add("SHA256SUMS", Buffer.from(sums.join("")))
write()

function takeVersion(next: string): void {
  const before = currentVersion()
  checkVersion(next, before)
  // A rebuild of an old commit passes its release date.
  const epoch = process.env.SOURCE_DATE_EPOCH
  const date = (epoch === undefined ? new Date() : new Date(Number(epoch) * 1000)).toISOString().slice(0, 10)
  const manifests = ["package.json", "samples/package.json", ...readdirSync("packages").map(manifestOf)]
  const changed = new Map([
    ...manifests.map(path => [path, withVersion(readFileSync(path, "utf8"), next)] as const),
    [
      "packages/cli/src/version.ts",
      readFileSync("packages/cli/src/version.ts", "utf8").replace(/(VERSION = )"[^"]+"/, `$1"${next}"`),
    ] as const,
    ...["action.yml", "deploy/helm/merlon/Chart.yaml", "deploy/helm/merlon/values.yaml"].map(
      path => [path, readFileSync(path, "utf8").replaceAll(before, next)] as const,
    ),
    ["package-lock.json", lockWithVersion(readFileSync("package-lock.json", "utf8"), next)] as const,
    ["CHANGELOG.md", releasedChangelog(readFileSync("CHANGELOG.md", "utf8"), next, date)] as const,
  ])
  for (const [path, text] of changed) {
    console.log(`${dry ? "would write" : "wrote"} ${path}`)
    if (!dry) writeFileSync(path, text)
  }
}

function manifestOf(name: string): string {
  return `packages/${name}/package.json`
}

async function addPrograms(): Promise<void> {
  // Loaded only if programs are packed: it contains every command, and loading it takes longer than packing the
  // library.
  const { shellFiles } = await import("@merlon/cli")
  const shell = await shellFiles()
  const programs = await packedPrograms(shell)
  add(`merlon-${version}.tgz`, programs.archive)
  add(`merlon-${version}.cdx.json`, bill("merlon", programs))
  if (values.only === "npm") return
  for (const arch of ARCHS) await addExecutable(arch, programs.components, shell)
  const digests = ARCHS.map(arch => [arch, sha256(artefacts.get(krewName(arch)) ?? Buffer.alloc(0))] as const)
  add("merlon.krew.yaml", Buffer.from(krewManifest(version, new Map(digests))))
}

function krewName(arch: Arch): string {
  return krewArchiveName(version, arch)
}

async function packedPrograms(shell: readonly ShellFile[]): Promise<Packed> {
  // A new version is also in the programs, and was set after they were built.
  if (!values.anew && values.version === undefined) return programsPackage(version, BUILT, shell)
  try {
    await makeBundle(TEMPORARY_BUNDLE)
    return programsPackage(version, TEMPORARY_BUNDLE, shell)
  } finally {
    rmSync(TEMPORARY_BUNDLE, { recursive: true, force: true })
  }
}

async function addExecutable(arch: Arch, components: readonly Component[], shell: readonly ShellFile[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "merlon-release-"))
  try {
    const out = join(folder, "merlond")
    // Created with Node for this machine, whatever the target.
    const maker = nodeProgram(process.arch === "arm64" ? "arm64" : "x64")
    await makeExecutable({ arch, node: nodeProgram(arch), maker, out })
    const executable = { arch, program: readFileSync(out), version, components, shell }
    add(`merlon-${version}-linux-${arch}.tar.gz`, standaloneArchive(executable))
    add(krewName(arch), krewArchive(executable))
    add(`merlon_${version}_${arch === "x64" ? "amd64" : "arm64"}.deb`, debianPackage(executable))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function bill(name: string, { components }: Packed): Buffer {
  const { description } = JSON.parse(readFileSync("package.json", "utf8"))
  return Buffer.from(billOfMaterials({ name, version, description }, components))
}

function add(name: string, content: Buffer): void {
  artefacts.set(name, content)
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex")
}

function write(): void {
  if (!dry) {
    rmSync(values.out, { recursive: true, force: true })
    mkdirSync(values.out, { recursive: true })
  }
  for (const [name, content] of artefacts) {
    const path = join(values.out, name)
    console.log(`${dry ? "would write" : "wrote"} ${path} (${content.length} bytes)`)
    if (!dry) writeFileSync(path, content)
  }
}
