// SPDX-License-Identifier: Apache-2.0
//
// Who a request is from, over real TLS connections. A credential that is sent and is invalid is an error: it never
// turns its sender into an anonymous user, who may have permissions of their own.
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
  // As the API server listens: it asks for a certificate, and who has none or another's is for this code to judge.
  server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const said = authenticate(request, tokens).catch(({ code }: { code: number }) => code)
    void said.then(who => response.end(JSON.stringify(who)))
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

/** Signed by the authority whose files begin like this. */
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

it("a client without credentials is anonymous, and only in that group", async () => {
  expect(await asked({})).toEqual({ name: "system:anonymous", uid: "", groups: ["system:unauthenticated"], extra: {} })
})

it("a certificate gives its user, its groups and the group of authenticated users", async () => {
  expect(await asked(admin())).toEqual({
    ...{ name: "admin", uid: "", groups: ["system:masters", "system:authenticated"] },
    extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
  })
  expect(await asked(signed("/CN=jane/O=a/O=b", "ca"))).toMatchObject({
    ...{ name: "jane", groups: ["a", "b", "system:authenticated"] },
  })
})

it("a token is its account, however the scheme is spelled", async () => {
  for (const scheme of ["Bearer", "bearer", "BEARER"])
    expect(await asked({}, `${scheme} ${await token()}`)).toMatchObject({ name: "system:serviceaccount:shop:a" })
})

it("a token counts before a certificate, as in Kubernetes", async () => {
  expect(await asked(admin(), `Bearer ${await token()}`)).toMatchObject({ name: "system:serviceaccount:shop:a" })
})

it.each<[string, () => Certificate | object, (() => Promise<string>) | undefined]>([
  ["a certificate of another authority", () => signed("/CN=admin/O=system:masters", "front-proxy-ca"), undefined],
  [
    "the front proxy's own",
    () => ({ cert: credentials.frontProxy.certificate, key: credentials.frontProxy.key }),
    undefined,
  ],
  ["a certificate that names two users", () => signed("/CN=jane/CN=admin", "ca"), undefined],
  ["a certificate that names none", () => signed("/O=system:masters", "ca"), undefined],
  ["a token that is none", () => ({}), async () => "Bearer nonsense"],
  ["a token for another audience", () => ({}), async () => `Bearer ${await token(["mesh"])}`],
  ["a token that is none, beside a good certificate", admin, async () => "Bearer nonsense"],
])("%s is rejected", async (_, certificate, authorization) => {
  expect(await asked(certificate(), await authorization?.())).toBe(401)
})

it("a scheme that is not spoken here says nothing of who it is", async () => {
  expect(await asked({}, "Basic YTpi")).toMatchObject({ name: "system:anonymous" })
  expect(await asked(admin(), "Basic YTpi")).toMatchObject({ name: "admin" })
})
