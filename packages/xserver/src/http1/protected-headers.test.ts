// SPDX-License-Identifier: Apache-2.0
// Only the proxy sets protected names: clients cannot in any spelling, neither in headers nor in trailers.
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import type { RequestListener } from "node:http"
import type { PolicyDocument } from "@merlon/policy/resources"
import { SignJWT } from "jose"
import { afterEach, describe, expect, it } from "vitest"
import { Rig, type RigOptions } from "./testing/rig.js"

let rig: Rig
afterEach(() => rig.stop())

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] })
const mint = () =>
  new SignJWT({ iss: "me", sub: "zoe" }).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey)

const tokens: PolicyDocument = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: { name: "p", namespace: "foo" },
  spec: {
    jwtRules: [
      {
        issuer: "me",
        jwks,
        fromHeaders: [{ name: "Authorization", prefix: "Bearer " }, { name: "x-jwt-assertion" }],
        outputClaimToHeaders: [
          { header: "x-user-sub", claim: "sub" },
          { header: "x_flat", claim: "sub" },
        ],
      },
    ],
  },
}

const allowHeader = (name: string, value: string): PolicyDocument => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name: "allow", namespace: "foo" },
  spec: { rules: [{ when: [{ key: `request.headers[${name}]`, values: [value] }] }] },
})

/** Responds with all the header and trailer lines that arrived. */
const mirror: RequestListener = (incoming, reply) => {
  incoming.resume().on("end", () => reply.end(JSON.stringify([incoming.rawHeaders, incoming.rawTrailers])))
}

const start = async (options: RigOptions): Promise<void> => {
  rig = await Rig.start({ application: mirror, ...options })
}

async function ask(text: string): Promise<string> {
  const client = await rig.client()
  return (await client.send(text).response()).toLowerCase()
}

const FORGED = [
  ...["X-User-Sub", "x_user_sub", "X-User_Sub", "x_USER-sub", "x-flat", "X_Flat"],
  ...["X-Forwarded-Client-Cert", "x_forwarded_client_cert", "X-Forwarded_Client-Cert", "x_forwarded_proto"],
  ...["x_jwt_assertion", "X-Jwt_Assertion", "X-Merlon-Decision", "x_merlon_anything"],
  // Headers about the message and its route, in spellings that only the application reads so.
  ...["transfer_encoding", "content.length", "x_forwarded_for", "X-Request_Id", "proxy_authorization"],
  // Names that lighttpd and PHP map to the same variable.
  ...["X.User.Sub", "x~user!sub", "x.flat", "x.forwarded-client.cert", "x.jwt.assertion", "X.Merlon.Any"],
]

describe("a forged header", () => {
  it.each(FORGED)("%s never arrives, with or without a token", async name => {
    await start({ documents: [tokens] })
    const token = `Authorization: Bearer ${await mint()}\r\n`
    for (const authorization of ["", token]) {
      const answer = await ask(`GET / HTTP/1.1\r\nHost: h\r\n${authorization}${name}: forged\r\nX-Kept: kept\r\n\r\n`)
      expect(answer).toMatch(/^http\/1.1 200 /)
      expect(answer).toContain("kept")
      expect(answer).not.toContain("forged")
      expect(answer.includes('"x-user-sub","zoe"')).toBe(authorization !== "")
    }
  })

  it.each([...FORGED, "x-jwt-assertion", "Authorization"])("%s does not arrive as a trailer", async name => {
    await start({ documents: [tokens] })
    const answer = await ask(
      `POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${name}: forged\r\nX-Kept: kept\r\n\r\n`,
    )
    expect(answer).toContain("kept")
    expect(answer).not.toContain("forged")
  })

  it.each(["x_user_sub", "x-flat", "x-merlon-tier", "x_forwarded_client_cert"])(
    "%s is not visible to a rule either",
    async name => {
      await start({ documents: [tokens, allowHeader(name, "forged")] })
      expect(await ask(`GET / HTTP/1.1\r\nHost: h\r\n${name}: forged\r\n\r\n`)).toMatch(/^http\/1.1 403 /)
    },
  )

  it.each([
    ["x-forwarded-proto", "https", "http"],
    ["x-forwarded-client-cert", "*", undefined],
  ])("%s is evaluated with the value that the proxy sets", async (name, forged, own) => {
    await start({ documents: [allowHeader(name, forged)] })
    expect(await ask(`GET / HTTP/1.1\r\nHost: h\r\n${name}: ${forged}\r\n\r\n`)).toMatch(/^http\/1.1 403 /)
    if (own === undefined) return
    rig.enforce(allowHeader(name, own))
    expect(await ask(`GET / HTTP/1.1\r\nHost: h\r\n${name}: ${forged}\r\n\r\n`)).toMatch(/^http\/1.1 200 /)
  })
})

describe("a trailer that a rule reads", () => {
  const head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
  const trailers = (name: string) => `0\r\n${name}: late\r\nX-Kept: kept\r\n\r\n`
  const spec = { action: "DENY", rules: [{ when: [{ key: "request.headers[X-Banned]", values: ["late"] }] }] } as const
  const deny: PolicyDocument = { ...allowHeader("x", "x"), kind: "AuthorizationPolicy", spec }
  const shadow: PolicyDocument = { ...deny, kind: "AuthorizationPolicy", spec: { ...spec, enforcement: "Shadow" } }

  it.each(["X-Banned", "x_banned", "X.BANNED"])("%s is not forwarded", async name => {
    await start({ documents: [deny] })
    const answer = await ask(head + trailers(name))
    expect(answer).toMatch(/^http\/1.1 200 /)
    expect(answer).toContain("kept")
    expect(answer).not.toContain("late")
  })

  it.each([
    ["came", [], [deny]],
    ["went", [deny], []],
  ] as const)("is not forwarded where the rule %s while the request was under way", async (_, before, after) => {
    await start({ documents: before })
    const arrived = once(rig.application, "request")
    const client = await rig.client()
    client.send(head)
    await arrived
    rig.enforce(...after)
    const answer = (await client.send(trailers("x-banned")).response()).toLowerCase()
    expect(answer).toContain("kept")
    expect(answer).not.toContain("late")
  })

  it("is forwarded if no enforced rule reads it", async () => {
    await start({ documents: [shadow] })
    expect(await ask(head + trailers("x-banned"))).toContain("late")
  })
})

describe("a token in a hop-by-hop header", () => {
  it.each([
    ["Authorization", "Bearer bad"],
    ["x-jwt-assertion", "bad"],
  ])("%s is judged", async (name, value) => {
    await start({ documents: [tokens] })
    const answer = await ask(`GET / HTTP/1.1\r\nHost: h\r\nConnection: ${name}\r\n${name}: ${value}\r\n\r\n`)
    expect(answer).toMatch(/^http\/1.1 401 /)
  })

  it("is used if it is valid, and is not forwarded", async () => {
    await start({ documents: [tokens] })
    const token = await mint()
    const answer = await ask(
      `GET / HTTP/1.1\r\nHost: h\r\nConnection: x-jwt-assertion, x-user-sub\r\nx-jwt-assertion: ${token}\r\n\r\n`,
    )
    expect(answer).toContain('"x-user-sub","zoe"')
    expect(answer).not.toContain("x-jwt-assertion")
  })

  it("shows a rule exactly the headers that the application receives", async () => {
    await start({ documents: [allowHeader("x-tier", "gold")] })
    const request = (connection: string) => `GET / HTTP/1.1\r\nHost: h\r\n${connection}X-Tier: gold\r\n\r\n`
    expect(await ask(request(""))).toMatch(/^http\/1.1 200 /)
    expect(await ask(request("Connection: x-tier\r\n"))).toMatch(/^http\/1.1 403 /)
  })
})
