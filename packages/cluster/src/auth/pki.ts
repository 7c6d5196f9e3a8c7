// SPDX-License-Identifier: Apache-2.0
//
// The cluster's own credentials, made on first start and kept in its data folder: a certificate authority, the serving
// certificate, an administrator's client certificate and the key that signs service-account tokens. Keys are 0600.

import "reflect-metadata"
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  type webcrypto,
} from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { isIP } from "node:net"
import { join } from "node:path"
import * as x509 from "@peculiar/x509"
import { FRONT_PROXY_NAME, type FrontProxyCredentials } from "../aggregation/front-proxy.js"

const YEAR = 365 * 24 * 3600 * 1000
const CA_LIFE = 10 * YEAR
const CERTIFICATE_LIFE = YEAR
/** Certificates are renewed at startup when less than this is left. */
const RENEW_BEFORE = 60 * 24 * 3600 * 1000
const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

export interface Credentials {
  readonly caCertificate: string
  readonly serverCertificate: string
  readonly serverKey: string
  readonly adminCertificate: string
  readonly adminKey: string
  readonly tokenKey: KeyObject
  readonly tokenKeyId: string
  /** The client certificate that aggregated API servers trust. */
  readonly frontProxy: FrontProxyCredentials
}

interface Authority {
  readonly certificate: x509.X509Certificate
  readonly keys: webcrypto.CryptoKeyPair
  readonly pem: string
}

async function writePrivate(path: string, text: string): Promise<void> {
  // Written to a temporary file and renamed, so that a crash never leaves half a key.
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", key))
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" }).export({ type: "pkcs8", format: "pem" }) as string
}

async function importKey(pem: string): Promise<webcrypto.CryptoKeyPair> {
  const privateDer = createPrivateKey(pem).export({ type: "pkcs8", format: "der" })
  const publicDer = createPublicKey(pem).export({ type: "spki", format: "der" })
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", privateDer, EC, true, ["sign"]),
    publicKey: await crypto.subtle.importKey("spki", publicDer, EC, true, ["verify"]),
  }
}

async function authority(folder: string, file: string, name: string, now: number): Promise<Authority> {
  const certificatePath = join(folder, `${file}.crt`)
  const keyPath = join(folder, `${file}.key`)
  if (existsSync(certificatePath) && existsSync(keyPath)) {
    const pem = await readFile(certificatePath, "utf8")
    return { certificate: new x509.X509Certificate(pem), keys: await importKey(await readFile(keyPath, "utf8")), pem }
  }
  const keys = await crypto.subtle.generateKey(EC, true, ["sign", "verify"])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(15).toString("hex"),
    name: `CN=${name}`,
    notBefore: new Date(now - 3600_000),
    notAfter: new Date(now + CA_LIFE),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const pem = `${certificate.toString("pem")}\n`
  await writePrivate(keyPath, await exportKey(keys.privateKey))
  await writeFile(certificatePath, pem)
  return { certificate, keys, pem }
}

async function issue(
  ca: Authority,
  folder: string,
  file: string,
  subject: string,
  usage: string,
  names: readonly string[],
  now: number,
): Promise<{ certificate: string; key: string }> {
  const certificatePath = join(folder, `${file}.crt`)
  const keyPath = join(folder, `${file}.key`)
  if (existsSync(certificatePath) && existsSync(keyPath)) {
    const pem = await readFile(certificatePath, "utf8")
    const known = new x509.X509Certificate(pem)
    const sans = known.getExtension(x509.SubjectAlternativeNameExtension)?.names.items.map(item => item.value) ?? []
    const issued =
      known.issuer === ca.certificate.subject &&
      (await known.verify({ publicKey: ca.keys.publicKey, date: new Date(now) }))
    if (issued && known.notAfter.getTime() - now > RENEW_BEFORE && names.every(name => sans.includes(name)))
      return { certificate: pem, key: await readFile(keyPath, "utf8") }
  }
  const keys = await crypto.subtle.generateKey(EC, true, ["sign", "verify"])
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([usage]),
    await x509.AuthorityKeyIdentifierExtension.create(ca.keys.publicKey),
  ]
  if (names.length > 0)
    extensions.push(
      new x509.SubjectAlternativeNameExtension(names.map(value => ({ type: isIP(value) === 0 ? "dns" : "ip", value }))),
    )
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(15).toString("hex"),
    subject,
    issuer: ca.certificate.subject,
    notBefore: new Date(now - 3600_000),
    notAfter: new Date(now + CERTIFICATE_LIFE),
    signingAlgorithm: EC,
    publicKey: keys.publicKey,
    signingKey: ca.keys.privateKey,
    extensions,
  })
  const pem = `${certificate.toString("pem")}\n`
  const key = await exportKey(keys.privateKey)
  await writePrivate(keyPath, key)
  await writeFile(certificatePath, pem)
  return { certificate: pem, key }
}

async function tokenKey(folder: string): Promise<KeyObject> {
  const path = join(folder, "service-accounts.key")
  if (!existsSync(path)) {
    // An RSA key would take longer to generate than everything else here together. An existing RSA key is used
    // unchanged.
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    await writePrivate(path, privateKey.export({ type: "pkcs8", format: "pem" }) as string)
  }
  return createPrivateKey(await readFile(path, "utf8"))
}

export async function loadCredentials(folder: string, hosts: readonly string[], now: number): Promise<Credentials> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const ca = await authority(folder, "ca", "merlon-cluster-ca", now)
  const names = [
    ...new Set([
      "localhost",
      "127.0.0.1",
      "::1",
      "kubernetes",
      "kubernetes.default",
      "kubernetes.default.svc",
      "kubernetes.default.svc.cluster.local",
      "10.0.0.1",
      ...hosts,
    ]),
  ]
  const server = await issue(ca, folder, "server", "CN=merlon-cluster", x509.ExtendedKeyUsage.serverAuth, names, now)
  const admin = await issue(
    ca,
    folder,
    "admin",
    "CN=admin, O=system:masters",
    x509.ExtendedKeyUsage.clientAuth,
    [],
    now,
  )
  // A separate authority: a client with a certificate of this authority may act as any user.
  const frontCa = await authority(folder, "front-proxy-ca", "merlon-cluster-front-proxy-ca", now)
  const clientAuth = x509.ExtendedKeyUsage.clientAuth
  const front = await issue(frontCa, folder, "front-proxy-client", `CN=${FRONT_PROXY_NAME}`, clientAuth, [], now)
  const key = await tokenKey(folder)
  const spki = createPublicKey(key).export({ type: "spki", format: "der" })
  return {
    caCertificate: ca.pem,
    serverCertificate: server.certificate,
    serverKey: server.key,
    adminCertificate: admin.certificate,
    adminKey: admin.key,
    tokenKey: key,
    frontProxy: { caCertificate: frontCa.pem, certificate: front.certificate, key: front.key },
    tokenKeyId: createHash("sha256").update(spki).digest("base64url"),
  }
}

/** A kubeconfig for the administrator, with the credentials embedded. */
export function kubeconfig(credentials: Credentials, server: string): string {
  const base64 = (text: string): string => Buffer.from(text).toString("base64")
  return `apiVersion: v1
kind: Config
clusters:
- name: merlon
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(credentials.caCertificate)}
users:
- name: admin
  user:
    client-certificate-data: ${base64(credentials.adminCertificate)}
    client-key-data: ${base64(credentials.adminKey)}
contexts:
- name: merlon
  context:
    cluster: merlon
    user: admin
current-context: merlon
`
}

export async function writeKubeconfig(path: string, text: string): Promise<void> {
  await writePrivate(path, text)
}
