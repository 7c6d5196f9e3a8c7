// SPDX-License-Identifier: Apache-2.0
// A client may present any other certificates with its own. OpenSSL does not need them to find a root, and no other
// code may trust them: any client can create a certificate with the name and the key of an authority, and sign it
// itself.
// @module-tag needs/openssl

import { execFileSync } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { RawClient } from "../testing/raw-client.js"
import { type ServerRig, serverRig } from "../testing/server-rig.js"
import { TestAuthority, type TestCredentials } from "../testing/test-authority.js"

const TYPE = "type.googleapis.com/test.Thing"
const closing: (() => unknown)[] = []
let rig: ServerRig
let old: TestAuthority

beforeEach(async () => {
  rig = await serverRig()
  closing.push(() => rig.server.close())
  old = new TestAuthority()
  rig.state.clientTrustBundle = old.bundle + rig.authority.bundle
  rig.server.credentialsChanged()
})

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function subscribed(credentials: TestCredentials) {
  const client = new RawClient({ address: rig.address, bundle: rig.authority.bundle, credentials })
  closing.push(() => client.client.close())
  const stream = client.delta()
  closing.push(() => stream.call.cancel())
  stream.send({ node: { id: "shop/orders-1" }, typeUrl: TYPE })
  await Promise.race([stream.response(0), stream.ended()])
  return stream
}

/**
 * A certificate with the name and key of one authority that names another as its issuer, without a valid signature.
 * Presented twice, because some versions of Node lose the first.
 */
function forged(of: TestAuthority, issuer: TestAuthority): string {
  return withOpenssl((folder, openssl) => {
    const subjectOf = ({ bundle }: TestAuthority) => `/${new X509Certificate(bundle).subject.replaceAll("\n", "/")}`
    const { publicKey } = new X509Certificate(of.bundle)
    writeFileSync(join(folder, "public"), publicKey.export({ type: "spki", format: "pem" }))
    writeFileSync(join(folder, "of"), of.bundle)
    const received = openssl("x509", "-in", "of", "-noout", "-ext", "subjectKeyIdentifier").toString()
    const id = /[0-9A-F]{2}(?::[0-9A-F]{2})+/.exec(received)?.[0] ?? ""
    const extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"]
    const ids = [`subjectKeyIdentifier=${id}`, "authorityKeyIdentifier=none"]
    writeFileSync(join(folder, "ext"), `${[...extensions, ...ids].join("\n")}\n`)
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key"]
    openssl("req", "-x509", ...key, "-subj", subjectOf(issuer), "-days", "2", "-out", "issuer")
    const signing = ["-CA", "issuer", "-CAkey", "key", "-set_serial", "1001", "-extfile", "ext", "-days", "2"]
    openssl("x509", "-new", "-force_pubkey", "public", "-subj", subjectOf(of), ...signing, "-out", "cert")
    return readFileSync(join(folder, "cert"), "utf8")
  })
}

/** An intermediate authority that operators create below their root; its key and name are those of `before`, or new. */
function below({ keys }: TestAuthority, before?: TestAuthority): TestAuthority {
  const { root, privateKey } = keys
  return withOpenssl((folder, openssl) => {
    writeFileSync(join(folder, "root"), root)
    writeFileSync(join(folder, "rootkey"), privateKey, { mode: 0o600 })
    const extensions = ["basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign"]
    writeFileSync(join(folder, "ext"), `${[...extensions, "subjectKeyIdentifier=hash"].join("\n")}\n`)
    openssl("ecparam", "-genkey", "-name", "prime256v1", "-out", "key")
    if (before !== undefined) writeFileSync(join(folder, "key"), before.keys.privateKey)
    openssl("req", "-new", "-key", "key", "-subj", "/CN=issuing", "-out", "csr")
    const signing = ["-CA", "root", "-CAkey", "rootkey", "-set_serial", "1001", "-extfile", "ext"]
    openssl("x509", "-req", "-in", "csr", ...signing, "-days", "2", "-out", "cert")
    const read = (name: string) => readFileSync(join(folder, name), "utf8")
    return new TestAuthority({ certificateChain: read("cert"), privateKey: read("key"), root })
  })
}

function withOpenssl<T>(make: (folder: string, openssl: (...args: readonly string[]) => Buffer) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "xds-issuers-"))
  try {
    return make(folder, (...args) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it("closes connections of a removed root, whichever root they present", async () => {
  const own = old.workload()
  const chain = own.chain + forged(old, rig.authority).repeat(2) + rig.authority.bundle
  const stream = await subscribed({ ...own, chain })
  expect(stream.end).toBeUndefined()
  rig.state.clientTrustBundle = rig.authority.bundle
  rig.server.credentialsChanged()
  rig.server.recheck()
  expect(await stream.ended()).toMatch(/^UNAUTHENTICATED: .*no longer trusted/)
})

it("accepts certificates of an authority for which another client presented a forgery", async () => {
  const stranger = new TestAuthority()
  const own = old.workload()
  await subscribed({ ...own, chain: own.chain + forged(old, stranger).repeat(2) + stranger.bundle })
  const stream = await subscribed(old.workload())
  expect(stream.end).toBeUndefined()
})

it("accepts certificates of an intermediate other than the control plane's own", async () => {
  const issuing = below(old)
  for (const workload of [issuing.workload(), issuing.workload()]) {
    const stream = await subscribed(workload)
    expect(stream.end).toBeUndefined()
  }
})

it("closes connections of an intermediate whose root is no longer trusted", async () => {
  const stream = await subscribed(below(old).workload())
  rig.state.clientTrustBundle = rig.authority.bundle
  rig.server.credentialsChanged()
  rig.server.recheck()
  expect(await stream.ended()).toMatch(/^UNAUTHENTICATED: .*no longer trusted/)
})

it("accepts an intermediate that another root has signed since", async () => {
  const issuing = below(old)
  expect((await subscribed(issuing.workload())).end).toBeUndefined()
  rig.state.clientTrustBundle = rig.authority.bundle
  rig.server.credentialsChanged()
  const stream = await subscribed(below(rig.authority, issuing).workload())
  expect(stream.end).toBeUndefined()
})
