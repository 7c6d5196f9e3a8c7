// SPDX-License-Identifier: Apache-2.0
// Ordinary, unmodified programs call each other under mesh-wide STRICT with ALLOW by principal: by Service name,
// headless name, StatefulSet name, cluster IP and Pod IP, over IPv4 and IPv6. Servers respond with the caller's
// identity.

import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { isMissing, type ProgramName } from "../../runner/programs.js"
import { apply, type Ended, kubectl, namespace, tryKubectl, tryMerlonctl } from "../support/cluster.js"
import { startMesh } from "../support/mesh.js"
import {
  buildGoProgram,
  GO_PROGRAM,
  GRPCURL,
  MODULES,
  NODE,
  PYTHON,
  postgres,
  withPrograms,
} from "../support/program-files.js"

const SPACE = "programs"
const IN_SPACE = ["-n", SPACE]
const ROOT = ["-n", "merlon-system"]
const IDENTITY = `spiffe://cluster.local/ns/${SPACE}/sa/caller`
const has = (program: ProgramName): boolean => !isMissing(`needs/${program}`)

const PORTS = {
  node: 8001,
  go: 8002,
  python: 8003,
  grpc: 8004,
  smtp: 8005,
  postgres: 5432,
} as const

/** The port name declares the protocol. Without it, a proxy would wait for the client to speak first. */
const PORT_NAMES: Readonly<Record<keyof typeof PORTS, string>> = {
  node: "http-node",
  go: "http-go",
  python: "http-python",
  grpc: "grpc",
  smtp: "tcp-smtp",
  postgres: "postgres",
}

/** HTTP and WebSocket by Node and `ws`, and a server-first protocol. */
const NODE_SERVER = `
  const { WebSocketServer } = require("${MODULES}/ws")
  const caller = request => request.headers["x-forwarded-client-cert"]
  const server = require("node:http").createServer((request, response) => response.end(caller(request))).listen(${PORTS.node})
  new WebSocketServer({ server }).on("connection", (socket, request) =>
    socket.on("message", text => socket.send(caller(request) + " " + text)))
  require("node:net").createServer(socket => {
    socket.on("error", () => {}).write("220 ready\\r\\n")
    socket.on("data", () => socket.write("250 ok\\r\\n"))
  }).listen(${PORTS.smtp})`
const PYTHON_SERVER = `
import http.server, socket
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = self.headers["x-forwarded-client-cert"].encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
Server(("::", ${PORTS.python}), Handler).serve_forever()`
const POSTGRES_SERVER = `${postgres("initdb")} -D /data/db -U postgres -A trust &&
  exec ${postgres("postgres")} -D /data/db -k /data -h '*'`

const SERVERS: readonly (readonly [
  name: string,
  command: readonly string[],
  ports: readonly (keyof typeof PORTS)[],
  needs: ProgramName,
])[] = [
  ["node", [NODE, "-e", NODE_SERVER], ["node", "smtp"], "linux"],
  ["go", [GO_PROGRAM, "serve", `:${PORTS.go}`, `:${PORTS.grpc}`], ["go", "grpc"], "go"],
  ["python", [PYTHON, "-c", PYTHON_SERVER], ["python"], "python3"],
  ["postgres", ["sh", "-c", POSTGRES_SERVER], ["postgres"], "postgresql"],
]
const servers = SERVERS.filter(([, , , needs]) => has(needs))
/** The ports of HTTP servers, and all ports. */
const served = servers.flatMap(([, , ports]) => ports)
const httpServers = served.filter(port => ["node", "go", "python"].includes(port))

const service = (name: string, spec: object) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: SPACE },
  spec: {
    selector: { app: "server" },
    ipFamilyPolicy: "RequireDualStack",
    ports: served.map(key => ({ name: PORT_NAMES[key], port: PORTS[key] })),
    ...spec,
  },
})
const policy = (kind: string, name: string, place: string, spec: object) => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind,
  metadata: { name, namespace: place },
  spec,
})
const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: SPACE } })
const caller = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: SPACE, labels: { app: name } },
  spec: { serviceAccountName: name, ...withPrograms({ command: ["sleep", "infinity"] }) },
})

/** All names and addresses of a server; IPv6 addresses in brackets. */
let hosts: readonly string[] = []

describe.skipIf(inject("kubelet") === "")("under STRICT with ALLOW by principal", () => {
  beforeAll(async () => {
    if (has("go")) buildGoProgram()
    await startMesh()
    await apply(
      namespace(SPACE, { "merlon-injection": "enabled" }),
      account("caller"),
      account("stranger"),
      caller("caller"),
      caller("stranger"),
      service("server", {}),
      service("servers", { clusterIP: "None" }),
      {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "server", namespace: SPACE },
        spec: {
          serviceName: "servers",
          selector: { matchLabels: { app: "server" } },
          template: {
            metadata: { labels: { app: "server" } },
            spec: withPrograms(
              ...servers.map(([name, command, ports]) => ({
                name,
                command,
                ports: ports.map(key => ({ name: PORT_NAMES[key], containerPort: PORTS[key] })),
              })),
            ),
          },
        },
      },
      policy("PeerAuthentication", "default", "merlon-system", { mtls: { mode: "STRICT" } }),
      policy("AuthorizationPolicy", "callers", SPACE, {
        rules: [{ from: [{ source: { principals: [`cluster.local/ns/${SPACE}/sa/caller`] } }] }],
      }),
    )
    await kubectl("rollout", "status", "statefulset/server", ...IN_SPACE, "--timeout=150s")
    for (const name of ["caller", "stranger"])
      await kubectl("wait", `pod/${name}`, ...IN_SPACE, "--for=condition=Ready", "--timeout=150s")
    await kubectl("wait", "pa/default", ...ROOT, "--for=condition=Enforced", "--timeout=150s")
    await kubectl("wait", "ap/callers", ...IN_SPACE, "--for=condition=Enforced", "--timeout=150s")
    const addresses = async (kind: string, name: string, path: string) => {
      const out = await kubectl("get", kind, name, ...IN_SPACE, "-o", `jsonpath=${path}`)
      return out.split(" ").map(address => (address.includes(":") ? `[${address}]` : address))
    }
    hosts = [
      `server.${SPACE}`,
      `servers.${SPACE}`,
      `server-0.servers.${SPACE}.svc.cluster.local`,
      ...(await addresses("service", "server", "{.spec.clusterIPs[*]}")),
      ...(await addresses("pod", "server-0", "{.status.podIPs[*].ip}")),
    ]
    expect(hosts).toHaveLength(7)
  })
  afterAll(async () => {
    await tryKubectl(["delete", "peerauthentications.security.merlon.dev/default", ...ROOT])
    await kubectl("delete", "namespace", SPACE, "--wait=false")
  })

  const run = (name: string, ...command: readonly string[]): Promise<Ended> =>
    tryKubectl(["exec", ...IN_SPACE, name, "-c", "app", "--", ...command])

  const NODE_EACH = (call: string) =>
    `(async () => { for (const url of process.argv.slice(1)) console.log(await (${call})(url).catch(error => String(error.cause ?? error))) })()`
  const PYTHON_EACH = (before: string, call: string) => `
import sys
${before}
for url in sys.argv[1:]:
    try:
        ${call}
    except Exception as error:
        print(error, getattr(error, "headers", {}).get("x-merlon-decision"), getattr(error, "code", ""))`

  /** Each prints a line per URL, which ends with the status. */
  const HTTP_CLIENTS: readonly (readonly [name: string, needs: ProgramName, command: readonly string[]])[] = [
    ["curl", "curl", ["curl", "-sg", "-m", "15", "-w", " %header{x-merlon-decision} %{http_code}\\n"]],
    [
      "Node's fetch",
      "linux",
      [
        NODE,
        "-e",
        NODE_EACH(
          `url => fetch(url).then(async answer => [answer.headers.get("x-merlon-decision"), await answer.text(), answer.status].join(" "))`,
        ),
      ],
    ],
    [
      "Node's http",
      "linux",
      [
        NODE,
        "-e",
        NODE_EACH(`url => new Promise((resolve, reject) => require("node:http").get(url, async answer => {
          let body = ""
          for await (const chunk of answer) body += chunk
          resolve([answer.headers["x-merlon-decision"], body, answer.statusCode].join(" "))
        }).on("error", reject))`),
      ],
    ],
    [
      "undici",
      "linux",
      [
        NODE,
        "-e",
        NODE_EACH(`url => require("${MODULES}/undici").request(url).then(async ({ headers, body, statusCode }) =>
          [headers["x-merlon-decision"], await body.text(), statusCode].join(" "))`),
      ],
    ],
    [
      "Python's urllib",
      "python3",
      [
        PYTHON,
        "-c",
        PYTHON_EACH(
          "import urllib.request",
          `answer = urllib.request.urlopen(url, timeout=15); print(answer.read().decode(), answer.status)`,
        ),
      ],
    ],
    [
      "Python's requests",
      "python3-requests",
      [
        PYTHON,
        "-c",
        PYTHON_EACH(
          "import requests",
          `answer = requests.get(url, timeout=15); print(answer.headers.get("x-merlon-decision"), answer.text, answer.status_code)`,
        ),
      ],
    ],
    ["Go's net/http", "go", [GO_PROGRAM, "http"]],
  ]

  describe.each(HTTP_CLIENTS)("%s", (_, needs, command) => {
    it("reaches every HTTP server by every name and address", { tags: [`needs/${needs}`] }, async () => {
      const urls = httpServers.flatMap(port => hosts.map(host => `http://${host}:${PORTS[port]}/`))
      const { out, err } = await run("caller", ...command, ...urls)
      const lines = out.trimEnd().split("\n")
      const found = urls.map((url, index) => ({ url, line: lines[index] ?? err }))
      const isRight = (line: string): boolean => line.includes(IDENTITY) && line.endsWith(" 200")
      expect(found.filter(({ line }) => !isRight(line))).toEqual([])
    })

    it("gets 403 without permission, with a decision that `merlonctl explain` explains", {
      tags: [`needs/${needs}`],
    }, async () => {
      const { out } = await run("stranger", ...command, `http://server.${SPACE}:${PORTS.node}/`)
      expect(out).toMatch(/ 403$/m)
      const [id = ""] = /\b[0-9a-f]{20}\b/.exec(out) ?? []
      const explained = async () => (await tryMerlonctl(["explain", id, ...IN_SPACE])).out
      await expect.poll(explained, { timeout: 60_000, message: `an explanation of ${id}` }).toContain("sa/stranger")
    })
  })

  /** Each takes targets as `host:port` and prints a line per target, which ends with `OK` if the call succeeds. */
  const GRPC_CLIENTS: readonly (readonly [name: string, needs: ProgramName, command: readonly string[]])[] = [
    ["grpc-go", "go", [GO_PROGRAM, "grpc"]],
    [
      "grpc-js",
      "go",
      [
        NODE,
        "-e",
        NODE_EACH(`target => new Promise(resolve => {
          const { Client, credentials, Metadata, status } = require("${MODULES}/@grpc/grpc-js")
          const client = new Client(target, credentials.createInsecure())
          const bytes = value => value
          let caller = ""
          client.makeUnaryRequest("/grpc.health.v1.Health/Check", bytes, bytes, Buffer.alloc(0), new Metadata(),
            { deadline: Date.now() + 15000 }, error => { client.close(); resolve(caller + " " + (error ? status[error.code] : "OK")) })
            .on("metadata", found => { caller = found.get("x-caller").join() })
        })`),
      ],
    ],
    [
      "grpcurl",
      "grpcurl",
      [
        "sh",
        "-c",
        `for target in "$@"; do echo $(${GRPCURL} -v -plaintext -max-time 15 "$target" grpc.health.v1.Health/Check 2>&1 |
          sed -n 's/^x-caller: //p; s/.*"SERVING".*/OK/p; s/^ *Code: //p; s/.*code = \\([A-Za-z]*\\).*/\\1/p'); done`,
        "sh",
      ],
    ],
  ]

  describe.each(GRPC_CLIENTS)("%s", (_, needs, command) => {
    const tags = ["needs/go", `needs/${needs}`]

    it("reaches a grpc-go server by every name and address", { tags }, async () => {
      const targets = hosts.map(host => `${host}:${PORTS.grpc}`)
      const { out, err } = await run("caller", ...command, ...targets)
      const lines = out.trimEnd().split("\n")
      const found = targets.map((target, index) => ({ target, line: lines[index] ?? err }))
      const isRight = (line: string): boolean => line.includes(IDENTITY) && line.endsWith(" OK")
      expect(found.filter(({ line }) => !isRight(line))).toEqual([])
    })

    it("is denied without permission", { tags }, async () => {
      const { out } = await run("stranger", ...command, `server.${SPACE}:${PORTS.grpc}`)
      expect(out.trim()).toMatch(/permission_?denied/i)
    })
  })

  it("a WebSocket works by every name and address, and only with permission", async () => {
    const script = NODE_EACH(`url => new Promise((resolve, reject) => {
      const socket = new (require("${MODULES}/ws"))(url)
      socket.on("open", () => socket.send("text")).on("error", reject)
      socket.on("message", text => { resolve(String(text)); socket.close() })
    })`)
    const urls = hosts.map(host => `ws://${host}:${PORTS.node}/`)
    const { out } = await run("caller", NODE, "-e", script, ...urls)
    const answer = expect.stringMatching(new RegExp(`${IDENTITY}.* text$`))
    expect(out.trimEnd().split("\n")).toEqual(urls.map(() => answer))
    expect((await run("stranger", NODE, "-e", script, ...urls.slice(0, 1))).out).toContain("403")
  })

  it("a server-first protocol works by every name and address, and only with permission", async () => {
    const script = `
import smtplib, sys
for host in sys.argv[1:]:
    try:
        server = smtplib.SMTP(host, ${PORTS.smtp}, timeout=15)
        print(server.noop()[0])
    except Exception as error:
        print(type(error).__name__)`
    const bare = hosts.map(host => host.replaceAll(/[[\]]/g, ""))
    const { out } = await run("caller", PYTHON, "-c", script, ...bare)
    expect(out.trimEnd().split("\n")).toEqual(bare.map(() => "250"))
    expect((await run("stranger", PYTHON, "-c", script, ...bare.slice(0, 1))).out).not.toContain("250")
  })

  it("psql queries PostgreSQL by every name and address, and only with permission", {
    tags: ["needs/postgresql"],
  }, async () => {
    const ask = (name: string, host: string, question: string) =>
      run(name, postgres("psql"), "-h", host, "-U", "postgres", "-tAc", question)
    const answers = { timeout: 60_000, message: "the database to answer" }
    for (const host of hosts.map(host => host.replaceAll(/[[\]]/g, ""))) {
      await expect
        .poll(async () => ({ host, ...(await ask("caller", host, "select 6 * 7")) }), answers)
        .toMatchObject({ host, out: "42\n" })
    }
    // A large result.
    expect((await ask("caller", `server.${SPACE}`, "select repeat('x', 2000000)")).out.length).toBe(2_000_001)
    expect(await ask("stranger", `server.${SPACE}`, "select 1")).toMatchObject({ code: 2, out: "" })
  })

  it.each(["-4", "-6"])("curl %s resolves and reaches every name", { tags: ["needs/curl"] }, async version => {
    const urls = hosts.slice(0, 3).map(host => `http://${host}:${PORTS.node}/`)
    const { out } = await run("caller", "curl", version, "-s", "-m", "15", "-w", " %{http_code}\\n", ...urls)
    const answer = expect.stringMatching(new RegExp(`${IDENTITY}.* 200$`))
    expect(out.trimEnd().split("\n")).toEqual(urls.map(() => answer))
  })
})
