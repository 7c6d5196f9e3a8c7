// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CertificateAuthority, createRoot, readSigningRequest } from "@merlon/identity"
import { meshNames } from "@merlon/policy"
import {
  type Bootstrap,
  type Caller,
  encodeProxyResource,
  MeshServer,
  type ProxyResource,
  type VersionedResource,
} from "@merlon/xds"
import { pino } from "pino"
import { afterEach, beforeEach, expect, it } from "vitest"
import { HeldResources } from "./held-resources.js"
import { keepState } from "./kept-state.js"
import { MeshSource } from "./mesh-source.js"

const HOUR = 3_600_000
const SERVER_NAME = "merlond.merlon-system.svc"
const CALLER: Caller = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "web", proof: "token" }

const newAuthority = () =>
  new CertificateAuthority(createRoot({ trustDomain: "cluster.local", now: Date.now() }), Date.now())
type Authority = ReturnType<typeof newAuthority>

let folder = ""
const closing: (() => unknown)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-source-"))
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  rmSync(folder, { recursive: true })
})

const resource = (name: string, content: ProxyResource, version: string): VersionedResource => ({
  name,
  version,
  value: encodeProxyResource(content),
})

function resourcesOf({ bundle, fingerprint }: Authority): readonly VersionedResource[] {
  const mesh = {
    mesh: "merlon",
    domain: "merlon.dev",
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    pathNormalization: "BASE" as const,
    numTrustedProxies: 0,
  }
  const workload = {
    mesh,
    namespace: "foo",
    name: "a",
    serviceAccount: "web",
    labels: {},
    services: [],
    ports: [],
    probes: {},
  }
  const trust = { bundle, signer: fingerprint, revokedIdentities: [], revokedSerials: [] }
  return [
    resource("workload", { kind: "workload", workload }, "1"),
    resource("trust", { kind: "trust", trust }, fingerprint),
  ]
}

async function serve(authority: Authority, revision: number): Promise<MeshServer> {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { certificateChain } = authority.signServer({
    publicKey: publicKey.export({ type: "spki", format: "der" }),
    dnsNames: [SERVER_NAME],
    ipAddresses: [],
    ttlMs: HOUR,
    now: Date.now(),
  })
  const credentials = {
    certificateChain,
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    clientTrustBundle: authority.bundle,
  }
  const resources = new Map(resourcesOf(authority).map(each => [each.name, each]))
  const server = await MeshServer.start({
    host: "127.0.0.1",
    port: 0,
    credentials: () => credentials,
    verifyToken: async () => CALLER,
    checkCertificate: () => CALLER,
    source: {
      mayWatch: () => undefined,
      open: () => ({
        watch: () => undefined,
        snapshot: () => ({ revision, resources }),
        acknowledged: () => undefined,
        rejected: () => undefined,
        close: () => undefined,
      }),
    },
    sign: async (_, request) => {
      const read = readSigningRequest(request)
      if (!read.ok) return { code: "INVALID_ARGUMENT", message: read.message }
      const identity = "spiffe://cluster.local/ns/foo/sa/web"
      const signed = authority.sign({ publicKey: read.publicKey, identity, ttlMs: HOUR, now: Date.now() })
      return { ...signed, trustBundle: authority.bundle }
    },
    report: () => undefined,
  })
  closing.push(() => server.close())
  return server
}

it("finds back to a control plane whose root changed while it was away, by a bundle written before it started", async () => {
  const [old, young] = [newAuthority(), newAuthority()]
  const server = await serve(young, 2)
  const bootstrap: Bootstrap = {
    names: meshNames(),
    controlPlane: { address: `127.0.0.1:${server.port}`, serverName: SERVER_NAME },
    workload: { namespace: "foo", name: "a", serviceAccount: "web" },
    trustBundle: join(folder, "root.pem"),
    token: join(folder, "token"),
    address: undefined,
    listen: "127.0.0.1",
    application: "127.0.0.1",
    state: join(folder, "state"),
  }
  const held = HeldResources.none.with({ revision: 1, resources: resourcesOf(old), removed: [] })
  keepState(join(folder, "state"), { held, since: Date.now() - 2 * HOUR, credentials: undefined })
  writeFileSync(bootstrap.token, "good")
  writeFileSync(bootstrap.trustBundle, young.bundle)
  const anHourAgo = new Date(Date.now() - HOUR)
  utimesSync(bootstrap.trustBundle, anHourAgo, anHourAgo)

  const source = new MeshSource({ bootstrap, logger: pino({ level: "silent" }) })
  closing.unshift(() => source.close())
  const revisions: number[] = []
  await source.start({
    enforce: async ({ revision }) => void revisions.push(revision),
    refused: () => undefined,
  })
  await expect.poll(() => revisions.at(-1)).toBe(2)
})
