// SPDX-License-Identifier: Apache-2.0
// Runs the suites that use the network most (xserver, xds, xclient) and the mission on other versions of Node: `npm run
// test:nodes` on all of them, `npm run test:nodes 24 26` on these, `npm run test:nodes -- --wire 26` only the wire
// suites. The binaries come from npm. A version that cannot be downloaded is reported, and the others run.

import { spawnSync } from "node:child_process"
import { delimiter } from "node:path"
import { NODE_PACKAGE, nodeFolder } from "./node-binaries.js"

const VERSIONS = ["20", "22", "24", "26"]
const SUITES = [
  "packages/wire/src",
  "packages/xserver/src",
  "packages/xds/src",
  "packages/xclient/src",
  "test/mission/mission.test.ts",
]
/** Suites that depend on Node's sockets, TLS and HTTP. */
const WIRE = [
  ...["http", "http1", "http2", "accept", "tcp"].map(folder => `packages/xserver/src/${folder}/`),
  "packages/xserver/src/process/reads-by-events.test.ts",
  "packages/wire/src/",
  "packages/xds/src/server/",
  "packages/xds/src/client/",
]
const [first, ...rest] = process.argv.slice(2)
const suites = first === "--wire" ? WIRE : SUITES
const asked = first === "--wire" || first === undefined ? rest : [first, ...rest]
const failed: string[] = []
for (const version of asked.length === 0 ? VERSIONS : asked) {
  const folder = nodeFolder(version)
  if (folder === undefined) {
    console.error(`Node ${version}: \`npm install ${NODE_PACKAGE}@${version}\` brings none, so nothing was tried on it`)
    failed.push(version)
    continue
  }
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` }
  const { stdout } = spawnSync("node", ["--version"], { env, encoding: "utf8" })
  console.log(`\nNode ${stdout.trim()}`)
  const { status } = spawnSync("npx", ["vitest", "run", ...suites], { env, stdio: "inherit" })
  if (status !== 0) failed.push(version)
}
if (failed.length > 0) {
  console.error(`not all passed on Node ${failed.join(", ")}`)
  process.exit(1)
}
