// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/tar
// @module-tag needs/xz
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { libraryFiles, programFiles, systemFiles } from "../../scripts/image/contents.js"
import { builtFor } from "../../scripts/image/machine.js"
import { layer, ociArchive } from "../../scripts/image/oci.js"
import { readParts } from "../../scripts/image/parts.js"
import { sbom } from "../../scripts/image/sbom.js"
import { type Entry, readTar, withFolders, writeTar } from "../../scripts/image/tar.js"

const CONFIG = {
  reference: "docker.io/library/merlon:1.2.3",
  user: "1337:1337",
  entrypoint: ["/usr/local/bin/merlond"],
  environment: ["A=b"],
  workingFolder: "/opt/merlon",
  labels: { a: "b" },
}
const BUNDLE = "packages/cli/bundle"

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-image-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe("a tar archive", () => {
  const name = fc.stringMatching(/^[a-z]{1,40}$/)
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map(parts => parts.join("/"))
  const entry = fc.oneof(
    fc.record({
      path,
      kind: fc.constant("file" as const),
      content: fc.uint8Array({ maxLength: 2000 }).map(bytes => Buffer.from(bytes)),
      mode: fc.constantFrom(0o644, 0o755),
    }),
    fc.record({ path, kind: fc.constant("link" as const), target: name }),
  )

  it("is read as it was written, in any order", () => {
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: one => one.path, maxLength: 8 }), entries => {
        const written = writeTar(entries)
        expect(written.equals(writeTar([...entries].reverse()))).toBe(true)
        const byPath = (list: readonly Entry[]) => [...list].sort((a, b) => (a.path < b.path ? -1 : 1))
        expect([...readTar(written)]).toEqual(byPath(entries))
      }),
    )
  })

  it("can be extracted by tar", () => {
    const file = join(folder, "a.tar")
    const deep = `${"folder/".repeat(14)}file`
    writeFileSync(file, writeTar(withFolders([{ path: deep, kind: "file", content: Buffer.from("x"), mode: 0o600 }])))
    execFileSync("tar", ["xf", file, "-C", folder])
    expect(readFileSync(join(folder, deep), "utf8")).toBe("x")
  })
})

describe("the image", () => {
  const build = () => {
    const programs = layer("the programs", [...systemFiles(), ...programFiles(BUNDLE, "1.2.3")])
    return ociArchive(CONFIG, [
      { architecture: "amd64", layers: [programs] },
      { architecture: "arm64", layers: [programs] },
    ])
  }

  it("is reproducible", () => {
    const [first, second] = [build(), build()]
    expect(first.archive.equals(second.archive)).toBe(true)
    expect(first.digest).toBe(second.digest)
  })

  it("has its name, its platforms, its user and layers addressed by digest", () => {
    const files = new Map([...readTar(build().archive)].map(entry => [entry.path, entry]))
    const content = (path: string): Buffer => {
      const entry = files.get(path)
      if (entry?.kind !== "file") throw new Error(`${path} is missing`)
      return entry.content
    }
    const blob = (digest: string) => JSON.parse(content(`blobs/sha256/${digest.slice(7)}`).toString())
    const [named] = JSON.parse(content("index.json").toString()).manifests
    expect(named.annotations["io.containerd.image.name"]).toBe("docker.io/library/merlon:1.2.3")
    const { manifests } = blob(named.digest)
    expect(manifests.map((one: { platform: unknown }) => one.platform)).toEqual([
      { architecture: "amd64", os: "linux" },
      { architecture: "arm64", os: "linux" },
    ])
    const { config, layers } = blob(manifests[0].digest)
    expect(blob(config.digest)).toMatchObject({ os: "linux", config: { User: "1337:1337" } })
    const paths = [...readTar(gunzipSync(content(`blobs/sha256/${layers[0].digest.slice(7)}`)))].map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(["usr/local/bin/merlond", "usr/local/bin/xclient", "etc/passwd"]))
    expect(paths.filter(path => /\.(node|map)$/.test(path))).toEqual([])
  })

  it.each(["amd64", "arm64"] as const)("contains the library that calls the C library, built for %s", architecture => {
    const [library, ...others] = builtFor(architecture, libraryFiles(BUNDLE, architecture))
    expect([library?.path, others]).toEqual([
      `opt/merlon/koffi/linux_${architecture === "amd64" ? "x64" : "arm64"}/koffi.node`,
      [],
    ])
  })

  it("has a bill of materials that names each component once", () => {
    const bundled = JSON.parse(readFileSync(join(BUNDLE, "packages.json"), "utf8"))
    const { components, serialNumber } = sbom("1.2.3", bundled, readParts())
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length)
    expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(["node", "libc6", "nftables", "pino"]))
  })

  it.each([
    ["no native module unless it serves its own cluster", /"prebuilds"/],
    ["no page of the console unless it serves one", /builtPage=\(\)=>/],
  ])("loads %s", (_, holds) => {
    const later = readdirSync(BUNDLE)
      .filter(name => name.endsWith(".js"))
      .filter(name => holds.test(readFileSync(join(BUNDLE, name), "utf8")))
    const serving = readdirSync(BUNDLE).filter(name => /^serve-.*\.js$/.test(name))
    expect([later.length > 0, serving.length]).toEqual([true, 1])
    expect(reached(serving[0] ?? "").filter(name => later.includes(name))).toEqual([])
  })
})

/** Files of the bundle that are loaded when this one is. */
function reached(start: string): readonly string[] {
  const seen = new Set([start])
  for (const name of seen) {
    for (const [, next = ""] of readFileSync(join(BUNDLE, name), "utf8").matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) {
      seen.add(next)
    }
  }
  return [...seen]
}
