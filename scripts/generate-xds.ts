// SPDX-License-Identifier: Apache-2.0
// Writes `packages/xds/src/generated`: messages and services of xDS, from Envoy's `.proto` files as shipped with
// @grpc/grpc-js-xds, and from our own. `--out DIR` writes to another folder, so that a test can check that the
// committed files are current. Nothing is downloaded.

import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const xds = join(root, "packages/xds")
const bin = join(root, "node_modules/.bin")
const shipped = join(root, "node_modules/@grpc/grpc-js-xds/deps")
const SOURCES = [
  join(xds, "proto"),
  ...["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map(name => join(shipped, name)),
]

/**
 * Files with the roots of `buf.gen.yaml`. Only their imports are copied, because other files do not compile on their
 * own.
 */
const ROOTS = [
  "merlon/mesh/v1/mesh.proto",
  "google/rpc/status.proto",
  "envoy/service/discovery/v3/ads.proto",
  "envoy/service/auth/v3/external_auth.proto",
  "envoy/config/listener/v3/listener.proto",
  "envoy/config/route/v3/route.proto",
  "envoy/config/cluster/v3/cluster.proto",
  "envoy/config/endpoint/v3/endpoint.proto",
  "envoy/extensions/transport_sockets/tls/v3/tls.proto",
  "envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto",
  "envoy/extensions/filters/http/router/v3/router.proto",
  "envoy/extensions/upstreams/http/v3/http_protocol_options.proto",
]

const IMPORT = /^import\s+(?:public\s+|weak\s+)?"([^"]+)"/gm

function layOut(target: string): void {
  const waiting = [...ROOTS]
  const seen = new Set<string>()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    // buf includes the well-known types.
    if (seen.has(path) || path.startsWith("google/protobuf/")) continue
    seen.add(path)
    const name = path
    const source = SOURCES.map(folder => join(folder, name)).find(existsSync)
    if (source === undefined) throw new Error(`\`${path}\` is imported and in none of the sources`)
    const file = join(target, path)
    mkdirSync(dirname(file), { recursive: true })
    // The shipped validate.proto is too old for this rule. All rules are dropped in the end, so this one can be dropped
    // first.
    const text = readFileSync(source, "utf8").replaceAll(" ignore_empty: true", "")
    writeFileSync(file, text)
    for (const match of text.matchAll(IMPORT)) waiting.push(match[1] ?? "")
  }
}

function licensed(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    writeFileSync(file, `// SPDX-License-Identifier: Apache-2.0\n${readFileSync(file, "utf8")}`)
  }
}

const at = process.argv.indexOf("--out")
const out = (at === -1 ? undefined : process.argv[at + 1]) ?? join(xds, "src/generated")
const work = mkdtempSync(join(tmpdir(), "merlon-xds-"))
try {
  layOut(join(work, "proto"))
  const buf = (...args: readonly string[]) =>
    execFileSync(join(bin, "buf"), args, {
      cwd: work,
      stdio: "inherit",
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ""}`, BUF_CACHE_DIR: join(work, "cache") },
    })
  // Without source info, which contains the comments of other projects' files.
  buf("build", "proto", "--exclude-source-info", "-o", "all.binpb")
  buf("generate", "--template", join(xds, "buf.gen.yaml"))
  licensed(join(work, "out"))
  rmSync(out, { recursive: true, force: true })
  cpSync(join(work, "out"), out, { recursive: true })
} finally {
  rmSync(work, { recursive: true, force: true })
}
