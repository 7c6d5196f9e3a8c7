// SPDX-License-Identifier: Apache-2.0
// Installs each artefact in an empty folder and runs a mesh with it, without a network: the artefact contains
// everything.
// @module-tag needs/tar

import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type ShellFile, shellFiles } from "@merlon/cli"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { blocks } from "../../scripts/markdown-blocks.js"
import { BUILT } from "../../scripts/release/bundle-folder.js"
import { makeExecutable } from "../../scripts/release/executable.js"
import { policyPackage, programsPackage, sampleEntries } from "../../scripts/release/packages.js"
import { debianPackage, standaloneArchive } from "../../scripts/release/systems.js"
import { tryMesh } from "./installed.js"

const { version } = JSON.parse(readFileSync("package.json", "utf8"))
const ready = {
  versions: [version, version],
  called: 200,
  routed: expect.stringContaining('"web.app.svc.cluster.local"'),
  compared: expect.stringContaining("nobody"),
  asked: expect.stringContaining("read: 1 policy"),
  warnings: [],
}

const SHARED = [
  "share/man/man1/merlonctl.1",
  "share/man/man1/merlond.1",
  "share/bash-completion/completions/merlonctl",
  "share/zsh/vendor-completions/_merlonctl",
  "share/fish/vendor_completions.d/merlonctl.fish",
]

let folder: string
let out: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-artefacts-"))
  out = join(folder, "release")
  release("--only", "npm", "--anew", "--out", out)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function release(...args: readonly string[]): string {
  return execFileSync("node", ["--import", "tsx", "scripts/release.ts", ...args], { encoding: "utf8" })
}

function empty(name: string): string {
  const made = join(folder, name)
  mkdirSync(made)
  return made
}

describe("the release", () => {
  it("is reproducible and lists the digests of its files", async () => {
    // The package that `npm run build` bundled earlier, in another folder.
    const again = programsPackage(version, BUILT, await shellFiles())
    expect(readFileSync(join(out, `merlon-${version}.tgz`)).equals(again.archive)).toBe(true)
    expect(readFileSync(join(out, `merlon-policy-${version}.tgz`)).equals(policyPackage(version).archive)).toBe(true)
    execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: out })
  })

  it("a dry run lists the files and writes nothing", () => {
    const before = readFileSync("CHANGELOG.md", "utf8")
    const nowhere = join(folder, "nowhere")
    const result = release("--version", "99.0.0", "--dry-run", "--only", "library", "--out", nowhere)
    for (const path of ["package.json", "packages/policy/package.json", "package-lock.json", "CHANGELOG.md"]) {
      expect(result).toContain(`would write ${path}\n`)
    }
    expect(result).toContain("merlon-policy-99.0.0.tgz")
    expect([existsSync(nowhere), readFileSync("CHANGELOG.md", "utf8") === before]).toEqual([false, true])
  })

  it("lists third-party components, each with a licence", () => {
    const bill = JSON.parse(readFileSync(join(out, `merlon-${version}.cdx.json`), "utf8"))
    const names = bill.components.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(["@grpc/grpc-js", "classic-level", "commander", "koffi", "re2js"]))
    for (const { name, licenses, hashes } of bill.components) {
      expect([licenses.length, hashes?.[0].content.length], name).toEqual([1, 128])
    }
  })
})

it("the package and the archive contain every sample that the README and the pages name", () => {
  const pages = ["README.md", ...readdirSync("docs", { recursive: true, encoding: "utf8" }).map(name => `docs/${name}`)]
  const named = new Set(
    pages
      .filter(page => page.endsWith(".md"))
      .flatMap(page => readFileSync(page, "utf8").match(/\bsamples\/[a-z]+\/[\w.-]*\w/g) ?? [])
      .filter(path => !path.startsWith("samples/src/")),
  )
  expect(named).toContain("samples/answers/admins-only.yaml")
  const packed = execFileSync("tar", ["-tzf", join(out, `merlon-${version}.tgz`)], { encoding: "utf8" }).split("\n")
  const standalone = sampleEntries("", false).map(({ path }) => path)
  const held = (paths: readonly string[], path: string): boolean =>
    paths.some(one => one === path || one.startsWith(`${path}/`))
  for (const path of named) {
    expect(held(packed, `package/${path}`), path).toBe(true)
    if (!path.startsWith("samples/dist/")) expect(held(standalone, path), path).toBe(true)
  }
})

it("the package of both programs installs without a network and runs a mesh", async () => {
  const prefix = empty("global")
  const archive = join(out, `merlon-${version}.tgz`)
  execFileSync("npm", ["install", "--global", "--offline", "--prefix", prefix, archive], { cwd: prefix, stdio: "pipe" })
  const installed = readdirSync(join(prefix, "lib", "node_modules"))
  expect(installed).toEqual(["merlon"])
  const place = join(prefix, "lib", "node_modules", "merlon")
  for (const path of SHARED) expect(existsSync(join(place, path)), path).toBe(true)
  // npm links the man pages, so that `man merlonctl` finds them.
  expect(readdirSync(join(prefix, "share", "man", "man1"))).toEqual(["merlonctl.1", "merlond.1"])
  expect(await tryMesh(join(prefix, "bin"), empty("global-home"))).toMatchObject(ready)
})

it("the library passes a strict compiler without skipLibCheck, and runs", () => {
  const home = empty("library")
  const place = join(home, "node_modules", "@merlon", "policy")
  mkdirSync(place, { recursive: true })
  execFileSync("tar", ["-xzf", join(out, `merlon-policy-${version}.tgz`), "-C", place, "--strip-components", "1"])
  // Replaces the registry: links the dependencies in its manifest to those installed in this repository.
  const { dependencies } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"))
  for (const name of [...Object.keys(dependencies), "undici-types"]) {
    mkdirSync(join(home, "node_modules", name, ".."), { recursive: true })
    symlinkSync(resolve("node_modules", name), join(home, "node_modules", name))
  }
  const [program, printed] = blocks(readFileSync("packages/policy/README.md", "utf8"))
  writeFileSync(join(home, "package.json"), '{ "type": "module" }')
  writeFileSync(join(home, "program.ts"), program?.text ?? "")
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: "NodeNext",
    target: "ES2022",
    skipLibCheck: false,
    types: [],
    outDir: "out",
  }
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["program.ts"] }))
  // A single thread without garbage collection does the same checks with a quarter less work.
  const env = { ...process.env, GOGC: "off" }
  execFileSync(resolve("node_modules/.bin/tsc"), ["-p", home, "--singleThreaded"], { stdio: "pipe", env })
  expect(execFileSync("node", [join(home, "out", "program.js")], { encoding: "utf8" })).toBe(printed?.text)
})

/** Writes a certificate with one program and checks it with the other. */
function checkedBy(command: string, args: readonly string[], merlonctl: string, home: string): string {
  const policy = (paths: readonly string[]) => ({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name: "web", namespace: "shop" },
    spec: { rules: paths.map(path => ({ to: [{ operation: { paths: [path] } }] })) },
  })
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "shop" }, spec: { containers: [] } }
  writeFileSync(join(home, "old.json"), JSON.stringify(policy(["/a*"])))
  writeFileSync(join(home, "new.json"), JSON.stringify(policy(["/a*", "/ab"])))
  writeFileSync(join(home, "pods.json"), JSON.stringify(pod))
  const sets = ["--from", "old.json", "--to", "new.json"]
  const env = { ...process.env, HOME: home }
  execFileSync(merlonctl, ["diff", ...sets, "--workloads", "pods.json", "--certificate", "c.json"], { cwd: home, env })
  return execFileSync(command, [...args, "c.json", ...sets], { cwd: home, env, encoding: "utf8" })
}

const PROVED = /^shop\/web: no request is decided differently\n(assumed of the .*\n){2}valid\n$/

it("the certificate checker is part of the programs, and a separate package", () => {
  const home = empty("checker")
  const programs = join(home, "programs")
  const place = join(home, "node_modules", "@merlon", "proof-check")
  for (const [name, to] of [["merlon", programs] as const, ["merlon-proof-check", place] as const]) {
    mkdirSync(to, { recursive: true })
    execFileSync("tar", ["-xzf", join(out, `${name}-${version}.tgz`), "-C", to, "--strip-components", "1"])
  }
  // Replaces the registry.
  symlinkSync(resolve("node_modules", "yaml"), join(home, "node_modules", "yaml"))
  const { bin, dependencies } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"))
  expect(Object.keys(dependencies)).toEqual(["yaml"])
  const merlonctl = join(programs, "bin", "merlonctl.js")
  for (const program of [join(place, bin["proof-check"]), join(programs, "bin", "proof-check.js")])
    expect(checkedBy("node", [program], merlonctl, home)).toMatch(PROVED)
})

describe("an executable for this architecture (only on Linux)", { tags: ["needs/linux"] }, () => {
  const arch = process.arch === "arm64" ? "arm64" : "x64"
  // No compression: compressing a hundred megabytes twice would be most of the cost of these tests.
  const level = 0
  let program: Buffer
  let shell: readonly ShellFile[]
  beforeAll(async () => {
    shell = await shellFiles()
    const file = join(folder, "executable")
    // Uses the Node that runs this test, so that nothing has to be downloaded.
    await makeExecutable({ arch, node: process.execPath, maker: process.execPath, out: file })
    program = readFileSync(file)
  })

  it("is unpacked and runs a mesh, without Node on the PATH", async () => {
    const home = empty("standalone")
    writeFileSync(join(home, "a.tar.gz"), standaloneArchive({ arch, program, version, components: [], shell, level }))
    execFileSync("tar", ["-xzf", "a.tar.gz"], { cwd: home })
    const bin = join(home, `merlon-${version}-linux-${arch}`, "bin")
    expect(await tryMesh(bin, empty("standalone-home"), "")).toMatchObject(ready)
  })

  it("is part of a Debian package with systemd units (needs dpkg-deb)", { tags: ["needs/dpkg-deb"] }, () => {
    const home = empty("debian")
    const file = join(home, "merlon.deb")
    writeFileSync(file, debianPackage({ arch, program, version: "1.2.3-rc.1", components: [], shell, level }))
    const field = (name: string): string =>
      execFileSync("dpkg-deb", ["--field", file, name], { encoding: "utf8" }).trim()
    expect([field("Package"), field("Version"), field("Architecture")]).toEqual([
      "merlon",
      "1.2.3~rc.1",
      arch === "x64" ? "amd64" : "arm64",
    ])
    execFileSync("dpkg-deb", ["--extract", file, join(home, "root")])
    const result = execFileSync(join(home, "root/usr/bin/merlonctl"), ["--version"], { encoding: "utf8" })
    expect(result.trim()).toBe(version)
    const bin = join(home, "root/usr/bin")
    expect(checkedBy(join(bin, "proof-check"), [], join(bin, "merlonctl"), home)).toMatch(PROVED)
    expect(readdirSync(join(home, "root/usr/lib/systemd/system"))).toEqual([
      "merlon-xserver@.service",
      "merlon.service",
    ])
    const share = readdirSync(join(home, "root/usr/share"), { recursive: true, encoding: "utf8" })
    expect(share).toEqual(
      expect.arrayContaining(SHARED.map(path => path.replace(/^share\//, "").replace(/\.1$/, ".1.gz"))),
    )
  })
})
