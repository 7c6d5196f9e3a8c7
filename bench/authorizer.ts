// SPDX-License-Identifier: Apache-2.0
// The cost of one check with Envoy's `ext_authz` over gRPC in `merlond authorizer`, with a token it has verified
// before. It is compared with a bare gRPC echo on `node:http2` and, if `opa-ext-authz` is on the path, OPA with the
// same rules. They take turns; each figure is the median over the rounds. `--json` prints one object.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type ClientHttp2Session, connect } from "node:http2"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readCheckResult, writeProviderCheck } from "@merlon/xds/authz"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { freePort } from "../packages/cluster/src/store/testing/free-port.js"
import { findProgram } from "../test/runner/programs.js"
import { ratio, requireSchedstat, shown, table } from "./measure.js"
import { MERLOND } from "./proxy/peers.js"
import { listening, usage } from "./proxy/running.js"

const ECHO = "gRPC echo"
const ISSUER = "https://issuer.example"
const GOAL_MICROSECONDS = 60
const WARM_UP = 20_000
const CHECKS = 4_000
const ROUNDS = 9
const CONCURRENCY = 32
const PREFIX = 5

interface Contender {
  readonly name: string
  readonly process: ChildProcess
  readonly session: ClientHttp2Session
  /** CPU per check, by round. */
  readonly costs: number[]
  /** Latency of every measured check. */
  readonly milliseconds: number[]
}

requireSchedstat("bench:authorizer")
const folder = mkdtempSync(join(tmpdir(), "merlon-bench-authorizer-"))
const contenders: Contender[] = []
try {
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  const token = await new SignJWT({ groups: ["orders"] })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .setIssuer(ISSUER)
    .setSubject("alice")
    .setExpirationTime("1h")
    .sign(privateKey)
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] })
  contenders.push(await authorizer(jwks), await echo())
  if (findProgram("opa-ext-authz") !== undefined) contenders.push(await opa(jwks))
  const message = checkWith(token)
  for (const { name, session } of contenders) if (name !== ECHO) await mustBeAllowed(session, message)
  for (const contender of contenders) await load(contender.session, message, WARM_UP)
  for (let round = 0; round < ROUNDS; round++) {
    for (const contender of contenders) {
      const before = usage(contender.process.pid ?? 0).cpuMicroseconds
      contender.milliseconds.push(...(await load(contender.session, message, CHECKS)))
      contender.costs.push((usage(contender.process.pid ?? 0).cpuMicroseconds - before) / CHECKS)
    }
  }
  report()
} finally {
  for (const { session, process: child } of contenders) {
    session.destroy()
    child.kill("SIGKILL")
  }
  rmSync(folder, { recursive: true, force: true })
}

function report(): void {
  const rows = contenders.map(({ name, costs, milliseconds }) => ({
    name,
    cpuMicroseconds: quantile(costs, 0.5),
    p50Ms: quantile(milliseconds, 0.5),
    p99Ms: quantile(milliseconds, 0.99),
  }))
  const [ours, theirs, opas] = rows
  const goal = {
    atMostMicroseconds: GOAL_MICROSECONDS,
    met: (ours?.cpuMicroseconds ?? Number.NaN) <= GOAL_MICROSECONDS,
  }
  if (process.argv.includes("--json")) {
    console.log(JSON.stringify({ checks: CHECKS * ROUNDS, concurrency: CONCURRENCY, rows, goal }))
    return
  }
  const head = ["", "CPU/check (µs)", "p50 (ms)", "p99 (ms)"]
  const cells = rows.map(row => [row.name, shown(row.cpuMicroseconds), shown(row.p50Ms), shown(row.p99Ms)])
  console.log(table(head, cells))
  console.log(`CPU relative to the echo: ${ratio(ours?.cpuMicroseconds, theirs?.cpuMicroseconds)}`)
  if (opas !== undefined) console.log(`CPU relative to OPA: ${ratio(ours?.cpuMicroseconds, opas.cpuMicroseconds)}`)
  console.log(`goal of at most ${GOAL_MICROSECONDS} µs: ${goal.met ? "met" : "missed"}`)
}

async function authorizer(jwks: string): Promise<Contender> {
  const port = await freePort()
  const document = (kind: string, name: string, spec: object) => ({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind,
    metadata: { name, namespace: "edge" },
    spec,
  })
  const file = join(folder, "authorizer.json")
  writeFileSync(
    file,
    JSON.stringify({
      workload: { namespace: "edge", name: "gateway-1", labels: { app: "gateway" } },
      ports: [{ port: 9000, protocol: "http", listen: { host: "127.0.0.1", port } }],
      policies: [
        document("RequestAuthentication", "issuer", { jwtRules: [{ issuer: ISSUER, jwks }] }),
        document("AuthorizationPolicy", "orders", {
          rules: Array.from({ length: 10 }, (_, n) => ({
            from: [{ source: { requestPrincipals: [`${ISSUER}/alice`] } }],
            to: [{ operation: { methods: ["GET"], paths: [`/orders-${n}/*`] } }],
          })),
        }),
      ],
    }),
  )
  const ends = ["--admin", `127.0.0.1:${await freePort()}`, "--health", `127.0.0.1:${await freePort()}`]
  const args = [MERLOND, "authorizer", "--config-file", file, "--state", join(folder, "state"), ...ends]
  return started("merlond authorizer", port, [...args, "--access-log", "off", "--log-level", "fatal"])
}

async function echo(): Promise<Contender> {
  const port = await freePort()
  return started(ECHO, port, ["--import", "tsx", "bench/authorizer/grpc-echo.ts", String(port)])
}

/** The same issuer and rules in Rego. */
async function opa(jwks: string): Promise<Contender> {
  const port = await freePort()
  const file = join(folder, "orders.rego")
  const policy = `package envoy.authz

request := input.attributes.request.http

token := payload if {
\tconstraints := {"cert": ${JSON.stringify(jwks)}, "iss": ${JSON.stringify(ISSUER)}}
\t[valid, _, payload] := io.jwt.decode_verify(substring(request.headers.authorization, 7, -1), constraints)
\tvalid
}

paths := [${Array.from({ length: 10 }, (_, n) => `"/orders-${n}/"`).join(", ")}]

default allow := false

allow if {
\ttoken.sub == "alice"
\trequest.method == "GET"
\tsome path in paths
\tstartswith(request.path, path)
}
`
  writeFileSync(file, policy)
  return started("OPA, from its Go library", port, [`127.0.0.1:${port}`, file], "opa-ext-authz")
}

async function started(name: string, port: number, args: readonly string[], program = "node"): Promise<Contender> {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] })
  await listening(child, port)
  const session = connect(`http://127.0.0.1:${port}`)
  await once(session, "connect")
  return { name, process: child, session, costs: [], milliseconds: [] }
}

function checkWith(token: string): Buffer {
  const message = writeProviderCheck({
    ...{ method: "GET", path: "/orders-9/42?page=2", host: "shop.example", scheme: "http", protocol: "HTTP/1.1" },
    requestId: "0e37df36-f698-11e6-8dd4-cb9ced3df976",
    headers: [
      ["authorization", `Bearer ${token}`],
      ["user-agent", "bench"],
      ["accept", "*/*"],
    ],
    source: { address: "127.0.0.1", principal: undefined },
    destination: { address: "127.0.0.1", port: 8080 },
    sni: undefined,
  })
  const framed = Buffer.alloc(PREFIX + message.length)
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, PREFIX)
  return framed
}

async function mustBeAllowed(session: ClientHttp2Session, message: Buffer): Promise<void> {
  const { code } = readCheckResult((await check(session, message)).subarray(PREFIX))
  if (code !== 0) throw new Error(`the authorizer does not allow what is measured: code ${code}`)
}

function check(session: ClientHttp2Session, message: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    const path = "/envoy.service.auth.v3.Authorization/Check"
    const head = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" }
    const stream = session.request(head)
    stream.on("error", reject)
    stream.on("data", (part: Buffer) => parts.push(part))
    stream.on("end", () => resolve(Buffer.concat(parts)))
    stream.end(message)
  })
}

/** Returns the latency of each check. */
async function load(session: ClientHttp2Session, message: Buffer, checks: number): Promise<readonly number[]> {
  const took: number[] = []
  let left = checks
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const begun = performance.now()
      await check(session, message)
      took.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, caller))
  return took
}

function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
