// SPDX-License-Identifier: Apache-2.0
//
// Authentication of a request over real TLS connections. A credential that is sent but invalid is an error. It never
// makes the client anonymous, because anonymous users may have permissions.
// @module-tag needs/openssl

import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, get, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { User } from "../registry/context.js"
import { catalog, stored } from "../testing/stored.js"
import { authenticate } from "./authenticate.js"
import { type Credentials, loadCredentials } from "./pki.js"
import { ISSUER, Tokens } from "./tokens.js"

interface Certificate {
  readonly cert: string
  readonly key: string
}

let folder: string
let credentials: Credentials
let tokens: Tokens
let server: Server
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "authenticate-"))
  credentials = await loadCredentials(folder, [], Date.now())
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", namespace: "shop", uid: "1" } }
  tokens = new Tokens(credentials, stored([account]), catalog, Date.now)
  const { serverCertificate: cert, serverKey: key, caCertificate: ca } = credentials
  // Same TLS options as the API server: it requests a certificate and leaves the check to `authenticate`.
  server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const result = authenticate(request, tokens).catch(({ code }: { code: number }) => code)
    void result.then(who => response.end(JSON.stringify(who)))
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})

/** The user, or the status of the rejection. */
function asked(certificate: Partial<Certificate>, authorization?: string): Promise<User | number> {
  const { port } = server.address() as AddressInfo
  const headers = authorization === undefined ? {} : { authorization }
  const { caCertificate: ca } = credentials
  return new Promise((resolve, reject) => {
    get({ ...certificate, host: "127.0.0.1", port, ca, headers, agent: false }, response => {
      let text = ""
      response.on("data", chunk => (text += chunk))
      response.on("end", () => resolve(JSON.parse(text)))
    }).on("error", reject)
  })
}

/** Signed by the authority whose file names begin with `authority`. */
function signed(subject: string, authority: string): Certificate {
  const at = (name: string): string => join(folder, name)
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "pipe" })
  openssl(
    "req",
    "-new",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-multivalue-rdn",
    ...["-subj", subject, "-keyout", at("client.key"), "-out", at("client.csr")],
  )
  writeFileSync(at("client.ext"), "extendedKeyUsage=clientAuth\n")
  openssl(
    "x509",
    "-req",
    "-in",
    at("client.csr"),
    "-CA",
    at(`${authority}.crt`),
    "-CAkey",
    at(`${authority}.key`),
    ...["-days", "1", "-extfile", at("client.ext"), "-out", at("client.crt")],
  )
  return { cert: readFileSync(at("client.crt"), "utf8"), key: readFileSync(at("client.key"), "utf8") }
}

const admin = (): Certificate => ({ cert: credentials.adminCertificate, key: credentials.adminKey })
const token = async (audiences = [ISSUER]): Promise<string> => {
  const account = { namespace: "shop", account: "a", accountUid: "1" }
  return (await tokens.issue({ ...account, audiences, expirationSeconds: 600 })).token
}

it("makes a client without credentials anonymous, in one group only", async () => {
  expect(await asked({})).toEqual({ name: "system:anonymous", uid: "", groups: ["system:unauthenticated"], extra: {} })
})

it("reads user and groups from a certificate and adds the group of authenticated users", async () => {
  expect(await asked(admin())).toEqual({
    ...{ name: "admin", uid: "", groups: ["system:masters", "system:authenticated"] },
    extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
  })
  expect(await asked(signed("/CN=jane/O=a/O=b", "ca"))).toMatchObject({
    ...{ name: "jane", groups: ["a", "b", "system:authenticated"] },
  })
})

it("reads the account from a token, whatever the case of the scheme", async () => {
  for (const scheme of ["Bearer", "bearer", "BEARER"])
    expect(await asked({}, `${scheme} ${await token()}`)).toMatchObject({ name: "system:serviceaccount:shop:a" })
})

it("prefers a token to a certificate, as Kubernetes does", async () => {
  expect(await asked(admin(), `Bearer ${await token()}`)).toMatchObject({ name: "system:serviceaccount:shop:a" })
})

it.each<[string, () => Certificate | object, (() => Promise<string>) | undefined]>([
  ["a certificate of another authority", () => signed("/CN=admin/O=system:masters", "front-proxy-ca"), undefined],
  [
    "the certificate of the front proxy",
    () => ({ cert: credentials.frontProxy.certificate, key: credentials.frontProxy.key }),
    undefined,
  ],
  ["a certificate that names two users", () => signed("/CN=jane/CN=admin", "ca"), undefined],
  ["a certificate that names no user", () => signed("/O=system:masters", "ca"), undefined],
  ["an invalid token", () => ({}), async () => "Bearer nonsense"],
  ["a token for another audience", () => ({}), async () => `Bearer ${await token(["mesh"])}`],
  ["an invalid token with a valid certificate", admin, async () => "Bearer nonsense"],
])("rejects %s", async (_, certificate, authorization) => {
  expect(await asked(certificate(), await authorization?.())).toBe(401)
})

it("ignores an authorization scheme that is not supported", async () => {
  expect(await asked({}, "Basic YTpi")).toMatchObject({ name: "system:anonymous" })
  expect(await asked(admin(), "Basic YTpi")).toMatchObject({ name: "admin" })
})
