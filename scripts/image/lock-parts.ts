// SPDX-License-Identifier: Apache-2.0
// Updates parts.json: the newest Node of our release line and the newest Debian packages, with their checksums.

import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { type Architecture, type DebianPackage, LOCK, MIRROR, NODE_PACKAGES, type Parts } from "./parts.js"

const NODE_LINE = "24"
const SUITE = "trixie"
/** The libraries that Node is linked with, and nft, which writes the rules of a captured Pod, with its libraries. */
const PACKAGES = [
  ...["libc6", "libgcc-s1", "libstdc++6"],
  ...["nftables", "libnftables1", "libmnl0", "libnftnl11", "libgmp10", "libjansson4", "libxtables12"],
  ...["libedit2", "libbsd0", "libmd0", "libtinfo6"],
]

async function debian(architecture: Architecture): Promise<readonly DebianPackage[]> {
  const response = await fetch(`${MIRROR}/dists/${SUITE}/main/binary-${architecture}/Packages.xz`)
  const compressed = Buffer.from(await response.arrayBuffer())
  const index = execFileSync("xz", ["-dc"], { input: compressed, maxBuffer: 1 << 30 }).toString()
  const fields = new Map(
    index.split("\n\n").map(block => {
      const of = (field: string): string => new RegExp(`^${field}: (.*)$`, "m").exec(block)?.[1] ?? ""
      return [of("Package"), { version: of("Version"), path: of("Filename"), sha256: of("SHA256") }]
    }),
  )
  return PACKAGES.map(name => {
    const found = fields.get(name)
    if (found === undefined) throw new Error(`${SUITE} has no package \`${name}\``)
    return { name, ...found }
  })
}

function node(): Parts["node"] {
  const view = (what: string, field: string): string =>
    execFileSync("npm", ["view", "--json", what, field], { stdio: ["ignore", "pipe", "ignore"] }).toString()
  const versions = (name: string) => new Set([JSON.parse(view(`${name}@${NODE_LINE}`, "version"))].flat().map(String))
  const [mine, others] = [versions(NODE_PACKAGES.amd64), versions(NODE_PACKAGES.arm64)]
  const numbers = (version: string) => version.split(".").map(Number)
  const both = [...mine].filter(version => others.has(version))
  const version = both.sort((a, b) => {
    const [x, y] = [numbers(a), numbers(b)]
    return (y[1] ?? 0) - (x[1] ?? 0) || (y[2] ?? 0) - (x[2] ?? 0)
  })[0]
  if (version === undefined) throw new Error(`no Node ${NODE_LINE} is there for both architectures`)
  const integrity = (name: string): string => JSON.parse(view(`${name}@${version}`, "dist.integrity"))
  return { version, integrity: { amd64: integrity(NODE_PACKAGES.amd64), arm64: integrity(NODE_PACKAGES.arm64) } }
}

const parts: Parts = {
  node: node(),
  debian: { suite: SUITE, packages: { amd64: await debian("amd64"), arm64: await debian("arm64") } },
}
writeFileSync(LOCK, `${JSON.stringify(parts, null, 2)}\n`)
console.log(`node ${parts.node.version}, ${PACKAGES.length} packages of ${SUITE}`)
