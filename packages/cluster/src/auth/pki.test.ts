// SPDX-License-Identifier: Apache-2.0
//
// The cluster's own credentials: created once and kept, renewed when they expire or no longer fit, and compared with
// OpenSSL.
// @module-tag needs/openssl

import { execFileSync } from "node:child_process"
import { generateKeyPairSync, X509Certificate } from "node:crypto"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { type Credentials, kubeconfig, loadCredentials, writeKubeconfig } from "./pki.js"

const DAY = 24 * 3600 * 1000
const START = Date.parse("2026-01-01T00:00:00Z")

let folder: string
let made: Credentials
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pki-"))
  made = await loadCredentials(join(folder, "pki"), ["host.example", "192.0.2.7"], START)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let copies = 0
/** A copy of the credentials, which a test may change. */
function copy(): string {
  const place = join(folder, `copy-${copies++}`)
  cpSync(join(folder, "pki"), place, { recursive: true })
  return place
}

const of = (pem: string): X509Certificate => new X509Certificate(pem)
const verified = (ca: string, certificate: string, purpose: string): string => {
  const at = ["-attime", String(START / 1000), "-purpose", purpose]
  const file = (name: string): string => join(folder, "pki", name)
  try {
    return execFileSync("openssl", ["verify", ...at, "-CAfile", file(ca), file(certificate)], { stdio: "pipe" })
      .toString()
      .replace(/^.*: /, "")
      .trim()
  } catch {
    return "rejected"
  }
}

describe("on a first start", () => {
  it("makes keys and their folder readable for their owner only", () => {
    const place = join(folder, "pki")
    expect(statSync(place).mode & 0o777).toBe(0o700)
    const keys = readdirSync(place).filter(name => name.endsWith(".key"))
    expect(keys.sort()).toEqual([
      ...["admin.key", "ca.key", "front-proxy-ca.key", "front-proxy-client.key", "server.key", "service-accounts.key"],
    ])
    for (const key of keys) expect(statSync(join(place, key)).mode & 0o777, key).toBe(0o600)
    expect(readdirSync(place).filter(name => name.endsWith(".new"))).toEqual([])
  })

  it.each([
    ["the server's certificate is valid for servers", "ca.crt", "server.crt", "sslserver", "OK"],
    ["the server's certificate is not valid for clients", "ca.crt", "server.crt", "sslclient", "rejected"],
    ["the administrator's certificate is valid for clients", "ca.crt", "admin.crt", "sslclient", "OK"],
    ["the administrator's certificate is not valid for servers", "ca.crt", "admin.crt", "sslserver", "rejected"],
    [
      "the front proxy's certificate is valid for clients, under its own authority",
      "front-proxy-ca.crt",
      "front-proxy-client.crt",
      "sslclient",
      "OK",
    ],
    [
      "the front proxy's certificate is not valid under the authority of users, because it may act as any user",
      "ca.crt",
      "front-proxy-client.crt",
      "sslclient",
      "rejected",
    ],
    [
      "certificates of users are not valid for the front proxy",
      "front-proxy-ca.crt",
      "admin.crt",
      "sslclient",
      "rejected",
    ],
  ])("%s", (_, ca, certificate, purpose, want) => expect(verified(ca, certificate, purpose)).toBe(want))

  it("the server's certificate has the names of its Service, of this machine and of the options", () => {
    const server = of(made.serverCertificate)
    for (const host of ["localhost", "kubernetes.default.svc", "host.example"])
      expect(server.checkHost(host)).toBe(host)
    for (const address of ["127.0.0.1", "::1", "10.0.0.1", "192.0.2.7"]) expect(server.checkIP(address)).toBe(address)
    expect([server.checkHost("elsewhere.example"), server.checkIP("192.0.2.8")]).toEqual([undefined, undefined])
  })

  it("the administrator is in the group of administrators, and the server is in none", () => {
    expect(of(made.adminCertificate).subject.split("\n").sort()).toEqual(["CN=admin", "O=system:masters"])
    expect(of(made.serverCertificate).subject).toBe("CN=merlon-cluster")
  })
})

describe("on a later start", () => {
  const again = (place: string, now = START, hosts = ["host.example"]): Promise<Credentials> =>
    loadCredentials(place, hosts, now)

  it("keeps everything", async () => {
    const { tokenKey: _, ...rest } = await again(copy())
    const { tokenKey: _key, ...before } = made
    expect(rest).toEqual(before)
  })

  it.each<[string, number, string[], boolean]>([
    ["keeps certificates ten months later", 300 * DAY, ["host.example"], true],
    ["renews certificates in their last two months", 306 * DAY, ["host.example"], false],
    ["keeps certificates if fewer names are needed", 0, [], true],
    ["renews certificates if another name is needed", 0, ["other.example"], false],
  ])("%s", async (_, later, hosts, kept) => {
    const { serverCertificate, caCertificate } = await again(copy(), START + later, hosts)
    expect(serverCertificate === made.serverCertificate).toBe(kept)
    expect(caCertificate).toBe(made.caCertificate)
    expect(of(serverCertificate).verify(of(caCertificate).publicKey)).toBe(true)
  })

  it("renews certificates of another authority with the same name", async () => {
    const place = copy()
    for (const file of ["ca.crt", "ca.key"]) rmSync(join(place, file))
    const { caCertificate, serverCertificate, adminCertificate } = await again(place)
    expect(caCertificate).not.toBe(made.caCertificate)
    for (const pem of [serverCertificate, adminCertificate])
      expect(of(pem).verify(of(caCertificate).publicKey)).toBe(true)
  })

  it("renews a certificate whose key is missing, with a matching key", async () => {
    const place = copy()
    rmSync(join(place, "server.key"))
    const { serverCertificate, serverKey } = await again(place)
    expect(serverCertificate).not.toBe(made.serverCertificate)
    expect(readFileSync(join(place, "server.key"), "utf8")).toBe(serverKey)
  })

  it("still signs tokens with an existing RSA key", async () => {
    const place = copy()
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    writeFileSync(join(place, "service-accounts.key"), privateKey.export({ type: "pkcs8", format: "pem" }))
    const { tokenKey } = await again(place)
    expect(tokenKey.equals(privateKey)).toBe(true)
    expect(made.tokenKey.asymmetricKeyType).toBe("ec")
  })

  it("gives another token key another key id", async () => {
    const place = copy()
    rmSync(join(place, "service-accounts.key"))
    expect((await again(place)).tokenKeyId).not.toBe(made.tokenKeyId)
  })
})

it("writes a kubeconfig with the administrator's credentials, readable for the owner only", async () => {
  const path = join(folder, "kubeconfig")
  await writeKubeconfig(path, kubeconfig(made, "https://127.0.0.1:1"))
  const { clusters, users, contexts, "current-context": current } = parse(readFileSync(path, "utf8"))
  const text = (base64: string): string => Buffer.from(base64, "base64").toString()
  expect(clusters[0].cluster.server).toBe("https://127.0.0.1:1")
  expect(text(clusters[0].cluster["certificate-authority-data"])).toBe(made.caCertificate)
  expect(text(users[0].user["client-certificate-data"])).toBe(made.adminCertificate)
  expect(text(users[0].user["client-key-data"])).toBe(made.adminKey)
  expect(contexts).toEqual([{ name: current, context: { cluster: clusters[0].name, user: users[0].name } }])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})
