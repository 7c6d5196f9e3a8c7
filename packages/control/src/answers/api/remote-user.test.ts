// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, request, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createRoot } from "@merlon/identity"
import { afterAll, beforeAll, expect, it, test } from "vitest"
import {
  type SigningOptions,
  selfSigned,
  signedBy,
  type TestCredentials,
} from "../../kubernetes/testing/credentials.js"
import { type FrontProxy, type RemoteUser, readFrontProxy, remoteUser } from "./remote-user.js"

const DAY = 86_400_000
const folder = mkdtempSync(join(tmpdir(), "merlon-front-"))
const own = selfSigned(folder, "own")
const authority = selfSigned(folder, "front-authority")
const front = signedBy(folder, authority, "front-proxy", "localhost")
const sibling = signedBy(folder, authority, "somebody-else", "localhost")
const made = (file: string, options: Omit<SigningOptions, "file">) =>
  signedBy(folder, authority, "front-proxy", "localhost", { file, ...options })
const lasting = made("lasting", { days: 3 })
// Has the name of the real authority, and another key.
const forgedFolder = mkdtempSync(join(tmpdir(), "merlon-forged-"))
const forged = signedBy(forgedFolder, selfSigned(forgedFolder, "front-authority"), "front-proxy", "localhost")

let server: Server
let seen: RemoteUser | undefined
let believed: FrontProxy
let now: number | undefined

beforeAll(async () => {
  const read = readFrontProxy({
    "requestheader-client-ca-file": authority.certificate,
    "requestheader-allowed-names": '["front-proxy"]',
  })
  if (read === undefined) throw new Error("there is an authority")
  believed = read
  const tls = { key: own.key, cert: own.certificate, requestCert: true, rejectUnauthorized: false }
  server = createServer(tls, (asked, reply) => {
    seen = remoteUser(asked, believed, now)
    reply.end()
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})

afterAll(async () => {
  await new Promise(resolve => server.close(resolve))
  for (const one of [folder, forgedFolder]) rmSync(one, { recursive: true })
})

function ask(headers: Record<string, string | string[]>, who?: TestCredentials): Promise<RemoteUser | undefined> {
  const { port } = server.address() as AddressInfo // the server listens on a port
  const identity = who === undefined ? {} : { key: who.key, cert: who.certificate }
  return new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", ca: own.certificate, agent: false, headers, ...identity }, answer => {
      answer.resume().once("end", () => resolve(seen))
    })
      .once("error", reject)
      .end()
  })
}

const JANE = { "x-remote-user": "jane" }

it("takes the user from the API server's headers", async () => {
  const headers = {
    ...JANE,
    "x-remote-group": ["dev", "system:authenticated"],
    "x-remote-uid": "7",
    "x-remote-extra-example.com%2fscope": "a",
  }
  expect(await ask(headers, front)).toEqual({
    name: "jane",
    uid: "7",
    groups: ["dev", "system:authenticated"],
    extra: { "example.com/scope": ["a"] },
  })
})

test.each([
  ["a caller without a certificate", undefined],
  ["a self-signed certificate", own],
  ["the authority itself", authority],
  ["another certificate of the same authority", sibling],
  ["a certificate of a forged authority with the same name", forged],
])("rejects another front proxy: %s", async (_, who) => {
  expect(await ask(JANE, who)).toBeUndefined()
})

test.each([
  ["an intermediate authority", made("below", { extensions: ["basicConstraints=critical,CA:TRUE"] })],
  ["valid only for servers", made("serving", { extensions: ["extendedKeyUsage=serverAuth"] })],
])("rejects a certificate of the same name and authority that is %s", async (_, who) => {
  expect(await ask(JANE, who)).toBeUndefined()
})

it("trusts a certificate for clients", async () => {
  const client = made("client", { extensions: ["basicConstraints=CA:FALSE", "extendedKeyUsage=clientAuth"] })
  expect(await ask(JANE, client)).toMatchObject({ name: "jane" })
})

test.each([
  ["while it is valid", 0, "jane"],
  ["only until it expires, even if the certificate is still valid", 2, undefined],
])("trusts an authority %s", async (_, days, name) => {
  now = Date.now() + days * DAY
  try {
    expect((await ask(JANE, lasting))?.name).toBe(name)
  } finally {
    now = undefined
  }
})

it("rejects an authority that is not valid yet, even if the certificate is", async () => {
  const before = believed
  const { root, privateKey } = createRoot({ trustDomain: "later", now: Date.now() + 2 * DAY })
  const [certificateFile, keyFile] = [join(folder, "later.crt"), join(folder, "later.key")]
  writeFileSync(certificateFile, root)
  writeFileSync(keyFile, privateKey, { mode: 0o600 })
  const later = { certificate: root, key: privateKey, certificateFile, keyFile }
  believed = readFrontProxy({ "requestheader-client-ca-file": root }) ?? believed
  try {
    const early = signedBy(folder, later, "front-proxy", "localhost", { file: "early", days: 5 })
    expect(await ask(JANE, early)).toBeUndefined()
    now = Date.now() + 3 * DAY
    expect(await ask(JANE, early)).toMatchObject({ name: "jane" })
  } finally {
    believed = before
    now = undefined
  }
})

test.each([
  ["missing headers", {}],
  ["an empty user", { "x-remote-user": "" }],
])("finds no user in %s", async (_, headers) => {
  expect(await ask(headers, front)).toBeUndefined()
})

it("decodes names outside ASCII", async () => {
  const bytes = (text: string): string => Buffer.from(text).toString("latin1")
  const headers = { "x-remote-user": bytes("jürgen@例え.example"), "x-remote-group": [bytes("büro"), "dev"] }
  expect(await ask(headers, front)).toMatchObject({ name: "jürgen@例え.example", groups: ["büro", "dev"] })
})
