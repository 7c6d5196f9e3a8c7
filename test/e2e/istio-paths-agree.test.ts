// SPDX-License-Identifier: Apache-2.0
// Paths in Istio's policies are normalized like in a real Envoy that is configured as Istio configures each mode.
// @module-tag needs/envoy

import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { compile, judge, meshConfig, meshNames, parseIp } from "@merlon/policy"
import { PATH_NORMALIZATIONS, type PathNormalization } from "@merlon/policy/mesh"
import fc from "fast-check"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { address, Envoy, type } from "./control/support/envoy.js"

const names = meshNames({ mesh: "istio", domain: "istio.io" })
const ip = parseIp("127.0.0.1")
const addressOf = (mode: PathNormalization): string => `127.0.1.${PATH_NORMALIZATIONS.indexOf(mode) + 1}`

const piece = fc.constantFrom(
  ...["/", "/", "/", "a", "b", ".", "..", "...", "..;", ";", "\\", "//", "%2f", "%2F", "%5c", "%2e", "%2E%2e", "%41"],
  ...[
    "%7e",
    "%20",
    "%25",
    "%252e",
    "%c0",
    "%zz",
    "%",
    "%00",
    "%0a",
    "|",
    "[",
    "{",
    "^",
    "`",
    '"',
    "<",
    "~",
    "+",
    "*",
    "@",
    "4",
    "%3",
    "%34",
    "%61",
  ],
  ...["?", "?q=//../%2f", "#", "#x", "é"],
)
const target = fc.array(piece, { maxLength: 8 }).map(pieces => `/${pieces.join("")}`)

/** The path that the application receives, or the status of the rejection. */
function expected(sent: string, mode: PathNormalization): string {
  const mesh = meshConfig({ names, dialect: "istio", pathNormalization: mode })
  const program = compile([], { namespace: "foo", name: "web", labels: {} }, mesh)
  if (ip === undefined) throw new Error("no address")
  const connection = { peer: undefined, sourceIp: ip, destinationIp: ip, destinationPort: 8080, sni: undefined }
  const request = { method: "GET", scheme: "http", host: "web", target: sent, headers: new Map() }
  const judged = judge(program, connection, request, 0)
  return judged.verdict === "allow" ? judged.target : String(judged.reply?.status)
}

async function answered(sent: string, mode: PathNormalization): Promise<string> {
  const socket = connect({ host: addressOf(mode), port: envoy.port })
  socket.write(`GET ${sent} HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n`, "latin1")
  let reply = ""
  for await (const chunk of socket.setEncoding("latin1")) {
    reply += chunk
    const [head = "", body] = reply.split("\r\n\r\n")
    if (body?.length === Number(/^content-length: (\d+)/im.exec(head)?.[1])) break
  }
  const status = /^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1] ?? "none"
  return status === "200" ? reply.slice(reply.indexOf("\r\n\r\n") + 4) : status
}

const managerOf = (mode: PathNormalization) => ({
  ...type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
  stat_prefix: "inbound",
  normalize_path: mode !== "NONE",
  merge_slashes: mode === "MERGE_SLASHES" || mode === "DECODE_AND_MERGE_SLASHES",
  ...(mode === "DECODE_AND_MERGE_SLASHES" && { path_with_escaped_slashes_action: "UNESCAPE_AND_FORWARD" }),
  route_config: {
    virtual_hosts: [
      { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "application" } }] },
    ],
  },
  http_filters: [
    { name: "envoy.filters.http.router", typed_config: type("envoy.extensions.filters.http.router.v3.Router") },
  ],
})

const sidecars = (port: number, application: number) => ({
  clusters: [
    {
      ...{ name: "application", type: "STATIC" },
      load_assignment: {
        cluster_name: "application",
        endpoints: [{ lb_endpoints: [{ endpoint: { address: address(application) } }] }],
      },
    },
  ],
  listeners: PATH_NORMALIZATIONS.map(mode => ({
    name: mode,
    address: { socket_address: { address: addressOf(mode), port_value: port } },
    filter_chains: [
      { filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: managerOf(mode) }] },
    ],
  })),
})

const application = createServer(({ url = "" }, reply) => {
  reply.setHeader("content-length", Buffer.byteLength(url, "latin1"))
  reply.end(Buffer.from(url, "latin1"))
})
let envoy: Envoy

beforeAll(async () => {
  application.listen(0, "127.0.0.1")
  await once(application, "listening")
  const { port } = application.address() as AddressInfo // a TCP server
  // As in the bootstrap of Istio's sidecars.
  const runtime = { "envoy.reloadable_features.http_reject_path_with_fragment": false }
  envoy = await Envoy.configured(own => sidecars(own, port), runtime)
  await eventually(
    async () => {
      const answer = await fetch(`http://127.0.0.1:${envoy.admin}/ready`).catch(() => undefined)
      return answer?.status === 200
    },
    { what: `Envoy is ready: ${envoy.log}` },
  )
})
afterAll(async () => {
  await envoy?.close()
  application.close()
})

it.each(PATH_NORMALIZATIONS)("predicts how %s normalizes every path", async mode => {
  await fc.assert(
    fc.asyncProperty(target, async sent => {
      expect([sent, await answered(sent, mode)]).toEqual([sent, expected(sent, mode)])
    }),
    { numRuns: 300 * inject("effort") },
  )
})
