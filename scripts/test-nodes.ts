// SPDX-License-Identifier: Apache-2.0
// Runs the suites that meet the network most (xserver, xds, xclient) and a part of the mission on other versions of Node:
// `npm run test:nodes` on all of them, `npm run test:nodes 24 26` on these. The binaries come from npm. A version that
// cannot be had is named, and the others run.

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"

const VERSIONS = ["20", "22", "24", "26"]
const SUITES = [
  "packages/xserver/src",
  "packages/xds/src",
  "packages/xclient/src",
  "test/mission/peer-authentication.test.ts",
]
/** The processor's name in npm's packages of Node. */
const PACKAGE = `node-${process.platform}-${process.arch}`

const asked = process.argv.slice(2)
const failed: string[] = []
for (const version of asked.length === 0 ? VERSIONS : asked) {
  const folder = folderOf(version)
  if (folder === undefined) {
    console.error(`Node ${version}: \`npm install ${PACKAGE}@${version}\` brings none, so nothing was tried on it`)
    failed.push(version)
    continue
  }
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` }
  const { stdout } = spawnSync("node", ["--version"], { env, encoding: "utf8" })
  console.log(`\nNode ${stdout.trim()}`)
  const { status } = spawnSync("npx", ["vitest", "run", ...SUITES], { env, stdio: "inherit" })
  if (status !== 0) failed.push(version)
}
if (failed.length > 0) {
  console.error(`not all passed on Node ${failed.join(", ")}`)
  process.exit(1)
}

/** Where its program lies; undefined where it cannot be had. */
function folderOf(version: string): string | undefined {
  const home = join(tmpdir(), `merlon-node-${version}`)
  const folder = join(home, "node_modules", PACKAGE, "bin")
  if (existsSync(join(folder, "node"))) return folder
  mkdirSync(home, { recursive: true })
  spawnSync("npm", ["install", "--no-save", "--silent", "--prefix", home, `${PACKAGE}@${version}`], {
    stdio: "inherit",
  })
  return existsSync(join(folder, "node")) ? folder : undefined
}
