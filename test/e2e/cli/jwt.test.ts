// SPDX-License-Identifier: Apache-2.0
// Keys and tokens as a user creates them, checked by a third-party verifier.

import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createLocalJWKSet, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const MERLONCTL = resolve("packages/cli/bin/merlonctl.js")

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function ctl(args: readonly string[], input = ""): Promise<Ran> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [MERLONCTL, ...args])
    const texts = { out: "", err: "" }
    child.stdout.on("data", (chunk: Buffer) => (texts.out += chunk.toString()))
    child.stderr.on("data", (chunk: Buffer) => (texts.err += chunk.toString()))
    child.once("error", failed)
    child.once("close", code => done({ code, ...texts }))
    child.stdin.on("error", () => undefined)
    child.stdin.end(input)
  })
}

describe("merlonctl jwt", () => {
  let folder = ""
  let server: Server
  let url = ""
  const file = (name: string): string => join(folder, name)
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "merlonctl-jwt-"))
    server = createServer((request, response) => {
      if (request.url === "/jwks.json") response.end(readFileSync(file("jwks.json")))
      else response.writeHead(302, { location: "/jwks.json" }).end()
    })
    await new Promise<void>(done => server.listen(0, "127.0.0.1", done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  const mint = async (...args: readonly string[]): Promise<string> => {
    const ran = await ctl(["jwt", "mint", "--key", file("private.jwk.json"), ...args])
    expect(ran).toMatchObject({ code: 0, err: "" })
    expect(ran.out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    return ran.out.trim()
  }

  it("creates a key that only the user can read, and replaces none", async () => {
    const made = await ctl(["jwt", "keygen", "--alg", "ES256", "--out", folder])
    expect(made.code).toBe(0)
    expect(statSync(file("private.jwk.json")).mode & 0o777).toBe(0o600)
    const { d } = JSON.parse(readFileSync(file("private.jwk.json"), "utf8"))
    for (const text of [made.out, made.err, readFileSync(file("jwks.json"), "utf8")]) expect(text).not.toContain(d)
    const again = await ctl(["jwt", "keygen", "--out", folder])
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("`--force`") })
  })

  it("signs tokens that others verify", async () => {
    const token = await mint("--iss", "me", "--sub", "alice", "--aud", "a", "--claim", 'groups=["x"]')
    const jwks = createLocalJWKSet(JSON.parse(readFileSync(file("jwks.json"), "utf8")))
    const { payload } = await jwtVerify(token, jwks, { issuer: "me", audience: "a" })
    expect(payload).toMatchObject({ sub: "alice", groups: ["x"], exp: (payload.iat ?? 0) + 3600 })
  })

  it("reports whether a proxy would accept a token", async () => {
    const token = await mint("--iss", "me", "--sub", "alice")
    const accepted = await ctl(["jwt", "inspect", "-", "--jwks", `${url}/jwks.json`], `Bearer ${token}\n`)
    expect(accepted).toMatchObject({ code: 0, out: expect.stringMatching(/verdict\n {2}valid\n$/) })
    const expired = await ctl(["jwt", "inspect", await mint("--exp=-1h"), "--jwks", file("jwks.json"), "-o", "json"])
    expect(expired.code).toBe(1)
    expect(JSON.parse(expired.out)).toMatchObject({ verdict: "rejected", error: "JwtExpired" })
    const moved = await ctl(["jwt", "inspect", token, "--jwks", `${url}/moved`])
    expect(moved).toMatchObject({ code: 3, err: expect.stringContaining("cannot fetch the key set") })
  })

  it("prints the public half in the form that a policy takes", async () => {
    const yaml = await ctl(["jwt", "jwks", "--key", file("private.jwk.json"), "-o", "yaml"])
    expect(yaml.out).toBe(`jwks: |\n  ${JSON.stringify(JSON.parse(readFileSync(file("jwks.json"), "utf8")))}\n`)
  })

  it("reports errors in a key and in a command line", async () => {
    expect(await ctl(["jwt", "mint", "--key", file("jwks.json")])).toMatchObject({
      code: 1,
      err: expect.stringContaining("holds no private key"),
    })
    expect(await ctl(["jwt", "mint"])).toMatchObject({ code: 2, err: expect.stringContaining("--key") })
  })
})

it("writes completion that bash can read", { tags: ["needs/bash"] }, async () => {
  const { code, out } = await ctl(["completion", "bash"])
  expect(code).toBe(0)
  expect(spawnSync("bash", ["-n"], { input: out }).status).toBe(0)
})
