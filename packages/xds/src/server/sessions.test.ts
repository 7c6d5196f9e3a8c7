// SPDX-License-Identifier: Apache-2.0
// TLS sessions that proxies resume: with any control plane that shares the secret, and never beyond the credentials
// they were created with. A client that resumes a session is checked like any other.

import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, createServer } from "node:tls"
import { create } from "@bufbuild/protobuf"
import { type AuthorityKeys, TicketKeys } from "@merlon/identity"
import { afterEach, describe, expect, it, test, vi } from "vitest"
import { Channel } from "../client/channel.js"
import { LastSession } from "../client/last-session.js"
import { DEFAULT_CLIENT_LIMITS, type Proof } from "../client/options.js"
import { SignCertificateRequestSchema } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { SILENT } from "../runtime/log.js"
import { type ServerRig, type ServerRigOptions, serverRig } from "../testing/server-rig.js"
import { SERVER_NAME, TestAuthority, type TestCredentials } from "../testing/test-authority.js"
import { signCertificate } from "../wire/methods.js"

const DAY_MS = 24 * 3_600_000
const SESSIONS = { secret: Buffer.alloc(32, 1), granted: "trust 1" }
const closing: (() => unknown)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0)) await close()
})

async function serve(options: ServerRigOptions = {}): Promise<ServerRig> {
  const rig = await serverRig({ sessions: SESSIONS, ...options })
  closing.push(() => rig.server.close())
  return rig
}

const shown = ({ chain, privateKey }: TestCredentials): Proof => ({ certificate: { chain, privateKey } })

test.each([
  ["TLSv1.3", "TLSv1.3"],
  // RFC 5077: TLS 1.2 tickets contain the session's key, encrypted with a key that derives from the authority's key.
  ["TLSv1.2", "rejected"],
] as const)("a client that uses %s: %s", async (maxVersion, expected) => {
  const { address } = await serve()
  const [host, port] = address.split(":")
  const socket = connect({ host, port: Number(port), maxVersion, rejectUnauthorized: false, ALPNProtocols: ["h2"] })
  closing.push(() => socket.destroy())
  const agreed = await new Promise(resolve => {
    socket.on("secureConnect", () => resolve(socket.getProtocol())).on("error", () => resolve("rejected"))
  })
  expect(agreed).toBe(expected)
})

/** Makes one call on a new connection. Returns whether the session was resumed, and the outcome of the call. */
async function visit(address: string, bundle: string, proof: Proof, session: LastSession) {
  const channel = new Channel({
    address,
    serverName: SERVER_NAME,
    trustBundle: () => bundle,
    proof: () => proof,
    limits: DEFAULT_CLIENT_LIMITS,
    log: SILENT,
    session,
  })
  try {
    await channel.ready
    const ended = new Promise<string>(resolve => {
      const call = channel.call(signCertificate.path, { message: () => undefined, ended: ({ code }) => resolve(code) })
      const request = { signingRequest: new Uint8Array(5), nodeId: "shop/orders-1" }
      call.send(signCertificate.requestSerialize(create(SignCertificateRequestSchema, request)))
      call.end()
    })
    const code = await ended
    return [channel.resumed ? "resumed" : "anew", code]
  } finally {
    channel.close()
  }
}

async function first(rig: ServerRig, proof: Proof): Promise<LastSession> {
  const session = new LastSession()
  expect(await visit(rig.address, rig.authority.bundle, proof, session)).toEqual(["anew", "OK"])
  return session
}

describe("a session", () => {
  it("is resumed repeatedly, even with a restarted or another control plane", async () => {
    const rig = await serve()
    const { authority } = rig
    const proof = shown(authority.workload())
    const session = await first(rig, proof)
    expect(await visit(rig.address, authority.bundle, proof, session)).toEqual(["resumed", "OK"])
    await rig.server.close()
    const port = rig.server.port
    // With its own new certificate, which no client has seen.
    const next = await serve({ authority, port })
    expect(await visit(next.address, authority.bundle, proof, session)).toEqual(["resumed", "OK"])
    expect(await visit(next.address, authority.bundle, proof, session)).toEqual(["resumed", "OK"])
  })

  test.each<[string, ServerRigOptions]>([
    ["has another secret", { sessions: { ...SESSIONS, secret: Buffer.alloc(32, 2) } }],
    ["trusts or revokes others", { sessions: { ...SESSIONS, granted: "trust 2" } }],
  ])("is not resumed if the control plane %s", async (_, options) => {
    const rig = await serve()
    const { authority } = rig
    const proof = shown(authority.workload())
    const session = await first(rig, proof)
    const { port } = rig.server
    await rig.server.close()
    const next = await serve({ authority, port, ...options })
    expect(await visit(next.address, authority.bundle, proof, session)).toEqual(["anew", "OK"])
  })

  it("becomes invalid at once when trust or revocations change", async () => {
    const rig = await serve()
    const proof = shown(rig.authority.workload())
    const session = await first(rig, proof)
    rig.state.sessions = { ...SESSIONS, granted: "trust 2" }
    rig.server.credentialsChanged()
    expect(await visit(rig.address, rig.authority.bundle, proof, session)).toEqual(["anew", "OK"])
  })

  it("is encrypted with other keys the next day", async () => {
    const rig = await serve()
    const session = await first(rig, { token: "good:orders-1" })
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + DAY_MS })
    // The client itself would not offer it, because the server's certificate has expired.
    const under = session.get.bind(session)
    session.get = terms => under(terms, 0)
    const proof = { token: "good:orders-1" }
    await expect(visit(rig.address, rig.authority.bundle, proof, session)).resolves.toEqual(["anew", "OK"])
  })

  it("is not granted by default", async () => {
    const rig = await serverRig()
    closing.push(() => rig.server.close())
    const session = await first(rig, { token: "good:orders-1" })
    expect(await visit(rig.address, rig.authority.bundle, { token: "good:orders-1" }, session)).toEqual(["anew", "OK"])
  })
})

describe("a client that resumes a session is checked like any other, even with the same ticket keys:", () => {
  test.each<[string, (rig: ServerRig, serial: string) => void, string]>([
    ["a revoked certificate", (rig, serial) => rig.state.revoked.add(serial), "PERMISSION_DENIED"],
    [
      "an expired certificate",
      rig => {
        rig.state.now = Date.now() + 2 * 3_600_000
      },
      "UNAUTHENTICATED",
    ],
    [
      "a certificate whose root was replaced by another of the same name",
      rig => {
        rig.state.clientTrustBundle = new TestAuthority().bundle
        rig.server.credentialsChanged()
      },
      "UNAUTHENTICATED",
    ],
    [
      "a certificate whose root is no longer trusted, on an open connection",
      rig => {
        rig.state.clientTrustBundle = ""
        rig.server.recheck()
      },
      "UNAUTHENTICATED",
    ],
  ])("%s is rejected, and the session is dropped", async (_, change, expected) => {
    const rig = await serve()
    const credentials = rig.authority.workload()
    const session = await first(rig, shown(credentials))
    change(rig, credentials.serial)
    const again = () => visit(rig.address, rig.authority.bundle, shown(credentials), session)
    expect(await again()).toEqual(["resumed", expected])
    expect(await again()).toEqual(["anew", expected])
  })

  it("a session that began with only a token is not authenticated without it", async () => {
    const rig = await serve()
    const session = await first(rig, { token: "good:orders-1" })
    expect(await visit(rig.address, rig.authority.bundle, {}, session)).toEqual(["resumed", "UNAUTHENTICATED"])
  })

  it("a foreign certificate next to a token authenticates nobody", async () => {
    const rig = await serve()
    const proof = shown(new TestAuthority().workload())
    const session = await first(rig, { ...proof, token: "good:orders-1" })
    expect(await visit(rig.address, rig.authority.bundle, proof, session)).toEqual(["resumed", "UNAUTHENTICATED"])
  })
})

it("a resumed session recognises a leaf below an intermediate", {
  tags: ["needs/openssl"],
}, async () => {
  const authority = new TestAuthority(intermediate(new TestAuthority().keys))
  // A separate server, because ours would remember the issuer from this handshake.
  const before = createServer({ ca: authority.bundle, ...granting(authority.server()) })
  closing.push(() => before.close())
  before.on("secureConnection", socket => socket.on("error", () => undefined).resume())
  before.listen(0, "127.0.0.1")
  await once(before, "listening")
  const address = before.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const session = new LastSession()
  const proof = shown(authority.workload())
  const kept = new Promise<void>(resolve => {
    const keep = session.keep.bind(session)
    session.keep = (...terms) => {
      keep(...terms)
      resolve()
    }
  })
  const channel = new Channel({
    address: `127.0.0.1:${port}`,
    serverName: SERVER_NAME,
    trustBundle: () => authority.bundle,
    proof: () => proof,
    limits: DEFAULT_CLIENT_LIMITS,
    log: SILENT,
    session,
  })
  await channel.ready
  await kept
  channel.close()
  await new Promise(resolve => before.close(resolve))
  const rig = await serve({ authority, port })
  expect(await visit(rig.address, authority.bundle, proof, session)).toEqual(["resumed", "OK"])
})

function granting({ chain, privateKey }: TestCredentials) {
  const keys = new TicketKeys(SESSIONS.secret, SESSIONS.granted, Number.POSITIVE_INFINITY, DAY_MS)
  return {
    cert: chain,
    key: privateKey,
    requestCert: true,
    ALPNProtocols: ["h2"],
    ticketKeys: keys.at(Date.now()),
    sessionIdContext: "merlon control plane",
  }
}

/** Created with openssl, as operators do. */
function intermediate(root: AuthorityKeys): AuthorityKeys {
  const folder = mkdtempSync(join(tmpdir(), "xds-intermediate-"))
  try {
    const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" })
    writeFileSync(join(folder, "root"), root.root)
    writeFileSync(join(folder, "rootkey"), root.privateKey, { mode: 0o600 })
    writeFileSync(
      join(folder, "ext"),
      "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n",
    )
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key"]
    openssl("req", "-new", ...key, "-subj", "/CN=issuing", "-out", "csr")
    const signing = ["-CA", "root", "-CAkey", "rootkey", "-set_serial", "1001", "-extfile", "ext"]
    openssl("x509", "-req", "-in", "csr", ...signing, "-days", "2", "-out", "cert")
    const read = (name: string) => readFileSync(join(folder, name), "utf8")
    return { certificateChain: read("cert"), privateKey: read("key"), root: root.root }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
