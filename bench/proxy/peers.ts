// SPDX-License-Identifier: Apache-2.0
// The proxies that are compared, each configured to do the same work on one thread.

import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { nodeFolder } from "../../scripts/node-binaries.js"
import { envoyConfiguration } from "./envoy.js"
import { ISSUER, ruleFiles } from "./material.js"
import { listening, programPath, type Running } from "./running.js"
import { isHttp2, type Work } from "./work.js"

export interface Peer {
  readonly name: string
  /** Its program; undefined if it is not installed. */
  readonly program: string | undefined
  can(work: Work): boolean
  /** Starts it for one kind of work and returns the port that it listens on. */
  start(work: Work, upstream: number, folder: string, rules?: 10 | 10_000): Promise<Running>
}

/** Loaded into the process itself: a wrapper that is killed would leave it behind. */
const TSX = ["--import", "tsx"]
/** Another build may be measured instead. `bin` could start precompiled code, with flags for processes of tests. */
export const MERLOND = process.env.MERLOND ?? "packages/cli/bundle/merlond.js"

/** `node` is the program that runs it: a path, or a name on PATH. */
function xserverOn(name: string, node: string | undefined): Peer {
  return {
    name,
    program: node,
    can: () => true,
    async start(work, upstream, folder, rules) {
      const [port, admin, health] = [await freePort(), await freePort(), await freePort()]
      const jwt = work.includes("jwt")
      const policies = jwt ? ["request-authentication.json", ...ruleFiles(rules ?? 0)] : []
      const mode = work.includes("mtls") ? "STRICT" : "PERMISSIVE"
      const file = join(folder, `xserver-${port}.yaml`)
      writeFileSync(
        file,
        JSON.stringify({
          workload: { namespace: "bench", name: "bench", labels: {} },
          ports: [
            {
              port: 8080,
              protocol: "http",
              listen: { host: "127.0.0.1", port },
              upstream: { port: upstream },
              upstreamProtocol: work === "grpc" ? "h2c" : "http/1.1",
            },
          ],
          policyFiles: policies,
          policies: [
            {
              apiVersion: "security.merlon.dev/v1alpha3",
              kind: "PeerAuthentication",
              metadata: { name: "mode", namespace: "bench" },
              spec: { mtls: { mode } },
            },
          ],
          tls: { certificateChain: "server.pem", privateKey: "server.key", trustBundle: "ca.pem" },
        }),
      )
      const args = [MERLOND, "xserver", "--config-file", file, "--access-log", "off"]
      const child = spawn(
        node ?? "node",
        [...args, "--admin", `127.0.0.1:${admin}`, "--health", `127.0.0.1:${health}`],
        {
          stdio: ["ignore", "ignore", "inherit"],
        },
      )
      return listening(child, port)
    },
  }
}

export const xserver = xserverOn("xserver", "node")

/** The same on the newest versions of Node, whatever version runs this. */
export const NEWEST_NODES = ["24", "26"] as const
export const RECOMMENDED_NODE: (typeof NEWEST_NODES)[number] = "24"

export function nameOn(version: string): string {
  return `xserver, Node ${version}`
}

const recommended = nodeFolder(RECOMMENDED_NODE)

/** The cost of a handshake without a proxy. */
export const nodeTls: Peer = {
  name: `node:tls, Node ${RECOMMENDED_NODE}`,
  program: recommended && join(recommended, "node"),
  can: work => work === "mtls",
  async start(_, __, folder) {
    const port = await freePort()
    const args = ["bench/proxy/node-tls.ts", String(port), folder]
    return listening(spawn(nodeTls.program ?? "node", args, { stdio: "ignore" }), port)
  },
}

const onNewest = NEWEST_NODES.map(version => {
  const folder = nodeFolder(version)
  return xserverOn(nameOn(version), folder && join(folder, "node"))
})

/** One thread, and no limit that the load would reach. */
export const HAPROXY_GLOBAL = `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 5s
`

/** Lines of a frontend that allow what our rules allow. */
export function haproxyTokenChecks(folder: string): string {
  return `
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')
  http-request deny unless { var(txn.alg) -m str RS256 }
  http-request deny unless { var(txn.bearer),jwt_verify(txn.alg,"${folder}/jwt.pub.pem") -m int 1 }
  http-request deny unless { var(txn.bearer),jwt_payload_query('$.iss') -m str ${ISSUER} }
  http-request deny unless { var(txn.bearer),jwt_payload_query('$.sub') -m str alice }
  http-request set-var(txn.exp) var(txn.bearer),jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny if { var(txn.exp),sub(txn.now) -m int lt 0 }
  http-request deny unless { var(txn.bearer),jwt_payload_query('$.role') -m str group1 }
  http-request del-header authorization`
}

export const haproxy: Peer = {
  name: "HAProxy",
  program: programPath("haproxy"),
  can: () => true,
  async start(work, upstream, folder) {
    const port = await freePort()
    const tls = work.includes("mtls")
      ? ` ssl crt ${folder}/server-both.pem ca-file ${folder}/ca.pem verify required`
      : ""
    const h2 = work === "mtls-h2" ? " alpn h2" : isHttp2(work) ? " proto h2" : ""
    const checks = work.includes("jwt") ? haproxyTokenChecks(folder) : ""
    const file = join(folder, `haproxy-${port}.cfg`)
    writeFileSync(
      file,
      `${HAPROXY_GLOBAL}frontend in
  bind 127.0.0.1:${port}${tls}${h2}${checks}
  default_backend app
backend app
  http-reuse always
  server app 127.0.0.1:${upstream}${work === "grpc" ? " proto h2" : ""}
`,
    )
    return listening(spawn(haproxy.program ?? "haproxy", ["-f", file, "-db"], { stdio: "ignore" }), port)
  },
}

export const nginx: Peer = {
  name: "nginx",
  program: programPath("nginx"),
  can: work => !work.includes("jwt"),
  async start(work, upstream, folder) {
    const port = await freePort()
    const tls = work.includes("mtls")
    const pass =
      work === "grpc"
        ? "grpc_pass grpc://app;"
        : 'proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";'
    const extra = tls
      ? `ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key; ssl_client_certificate ${folder}/ca.pem; ssl_verify_client on;`
      : ""
    const file = join(folder, `nginx-${port}.conf`)
    writeFileSync(
      file,
      `daemon off; master_process off; worker_processes 1; pid ${folder}/nginx-${port}.pid; error_log /dev/null;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${folder}/nginx-body; proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-f; uwsgi_temp_path ${folder}/nginx-u; scgi_temp_path ${folder}/nginx-s;
  upstream app { server 127.0.0.1:${upstream}; keepalive 64; }
  server {
    listen 127.0.0.1:${port}${tls ? " ssl" : ""}${isHttp2(work) ? " http2" : ""}; keepalive_requests 10000000; ${extra}
    location / { ${pass} }
  }
}
`,
    )
    return listening(spawn(nginx.program ?? "nginx", ["-c", file], { stdio: "ignore" }), port)
  },
}

export const nodeHttp: Peer = {
  name: "node:http",
  program: process.execPath,
  can: work => !isHttp2(work),
  async start(work, upstream, folder) {
    const port = await freePort()
    const args = [...TSX, "bench/proxy/node-proxy.ts", String(upstream), String(port), work, folder]
    return listening(spawn("node", args, { stdio: "ignore" }), port)
  },
}

export const envoy: Peer = {
  name: "Envoy",
  program: programPath("envoy"),
  can: () => true,
  async start(work, upstream, folder) {
    const port = await freePort()
    const file = join(folder, `envoy-${port}.json`)
    writeFileSync(file, JSON.stringify(envoyConfiguration(work, port, upstream, folder)))
    const args = ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]
    return listening(spawn(envoy.program ?? "envoy", args, { stdio: "ignore" }), port)
  },
}

export const PEERS: readonly Peer[] = [xserver, ...onNewest, nodeTls, haproxy, envoy, nginx, nodeHttp]
