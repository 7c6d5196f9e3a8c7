// SPDX-License-Identifier: Apache-2.0
// The sample policies are valid, begin with a description, and do what it says.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import {
  type Connection,
  compile,
  type Judgement,
  judge,
  meshConfig,
  type PolicyDocument,
  parseIp,
  parseKeySet,
  readDocuments,
  spiffeId,
  type Workload,
} from "@merlon/policy"
import { importJWK, SignJWT } from "jose"
import { describe, expect, it } from "vitest"

const FOLDER = "samples/policies"
const mesh = meshConfig()
const now = Math.floor(Date.now() / 1000)
const text = (name: string): string => readFileSync(join(FOLDER, name), "utf8")

const httpbin: Workload = { namespace: "foo", name: "httpbin-1", labels: { app: "httpbin", version: "v1" } }
const web: Workload = { namespace: "app", name: "web-v1", labels: { app: "web", version: "v1" } }
const consumer = spiffeId("cluster.local", "app", "consumer")
const stranger = spiffeId("cluster.local", "bar", "sleep")

function policies(...names: readonly string[]): readonly PolicyDocument[] {
  return names.flatMap(name =>
    readDocuments(text(`${name}.yaml`), mesh.names).flatMap(({ document }) => document ?? []),
  )
}

interface Asked {
  readonly peer?: Connection["peer"]
  readonly method?: string
  readonly token?: string
}

const ip = parseIp("10.0.0.1") ?? expect.fail("an address")
const fetched = parseKeySet(readFileSync("samples/keys/jwks.json", "utf8"))

function judged(documents: readonly PolicyDocument[], workload: Workload, asked: Asked): Judgement {
  const program = compile(documents, workload, mesh, () => (fetched.ok ? fetched.keySet : undefined))
  const { peer, method = "GET", token } = asked
  const headers = new Map<string, readonly string[]>()
  if (token !== undefined) headers.set("authorization", [`Bearer ${token}`])
  const connection = { peer, sourceIp: ip, destinationIp: ip, destinationPort: 8080, sni: undefined }
  return judge(program, connection, { method, scheme: "http", host: "httpbin", target: "/get", headers }, now)
}

async function token(claims: object, issuer = "https://issuer.example"): Promise<string> {
  const jwk = JSON.parse(readFileSync("samples/keys/private.jwk.json", "utf8"))
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: jwk.alg, kid: jwk.kid })
    .setIssuer(issuer)
    .setSubject("alice")
    .setExpirationTime(now + 60)
    .sign(await importJWK(jwk))
}

describe.each(readdirSync(FOLDER).filter(name => !name.endsWith(".test.yaml")))("%s", name => {
  it("is valid, without a warning", () => {
    const read = readDocuments(text(name), mesh.names)
    expect(read.length).toBe(1)
    expect(read.flatMap(({ errors, warnings }) => [...errors, ...warnings].map(({ message }) => message))).toEqual([])
  })

  it("has a description, below the line for editors", () => {
    expect(text(name)).toMatch(/^# yaml-language-server: [^\n]+\n# [^\n]{20,}\.\napiVersion:/)
  })
})

describe("mutual TLS", () => {
  it("is accepted beside plaintext in the whole mesh", () => {
    for (const workload of [httpbin, web]) {
      expect(judged(policies("peer-permissive"), workload, {}).verdict).toBe("allow")
      expect(judged(policies("peer-permissive"), workload, { peer: stranger }).verdict).toBe("allow")
    }
  })

  it("is required in foo and nowhere else", () => {
    const both = policies("peer-permissive", "peer-strict")
    expect(judged(both, httpbin, {})).toMatchObject({ verdict: "deny", stage: "transport", mode: "STRICT" })
    expect(judged(both, httpbin, { peer: stranger }).verdict).toBe("allow")
    expect(judged(both, web, {}).verdict).toBe("allow")
  })
})

describe.each(["request-authentication-inline", "request-authentication-uri"])("with %s httpbin", authentication => {
  it("accepts a token of the issuer, and requests without one", async () => {
    const only = policies(authentication)
    expect(judged(only, httpbin, { token: await token({}) }).verdict).toBe("allow")
    expect(judged(only, httpbin, {}).verdict).toBe("allow")
    const foreign = judged(only, httpbin, { token: await token({}, "https://another.example") })
    expect(foreign).toMatchObject({ verdict: "deny", reply: { status: 401, body: "Jwt issuer is not configured" } })
  })

  it("requires a token if a policy does", async () => {
    const both = policies(authentication, "require-token")
    expect(judged(both, httpbin, { token: await token({}) }).verdict).toBe("allow")
    expect(judged(both, httpbin, {})).toMatchObject({ verdict: "deny", reply: { status: 403 } })
  })

  it("requires the group `admin` if a policy does", async () => {
    const both = policies(authentication, "require-group")
    expect(judged(both, httpbin, { token: await token({ groups: ["dev", "admin"] }) }).verdict).toBe("allow")
    expect(judged(both, httpbin, { token: await token({ groups: ["dev"] }) }).verdict).toBe("deny")
    expect(judged(both, httpbin, {}).verdict).toBe("deny")
  })
})

it("allows only the consumer that reads", () => {
  const only = policies("only-consumer")
  expect(judged(only, web, { peer: consumer }).verdict).toBe("allow")
  expect(judged(only, web, { peer: consumer, method: "POST" }).verdict).toBe("deny")
  expect(judged(only, web, { peer: stranger }).verdict).toBe("deny")
  expect(judged(only, web, {}).verdict).toBe("deny")
})

it("splits web into equal shares over mutual TLS", () => {
  const [split] = policies("web-split")
  if (split?.kind !== "MeshService") return expect.fail("a MeshService")
  expect(split.spec.trafficPolicy?.tls?.mode).toBe("DUBBO_MUTUAL")
  const destinations = split.spec.routes?.flatMap(({ service = [] }) => service) ?? []
  expect(destinations.map(({ name, labels, weight }) => ({ name, labels, weight }))).toEqual([
    { name: "v1", labels: { version: "v1" }, weight: 50 },
    { name: "v2", labels: { version: "v2" }, weight: 50 },
  ])
})

it("publishes only the public half of the well-known key", () => {
  const jwks = JSON.parse(readFileSync("samples/keys/jwks.json", "utf8"))
  expect(text("request-authentication-inline.yaml")).toContain(JSON.stringify(jwks))
  expect(fetched.ok && fetched.keySet.exposed).toEqual([])
})
