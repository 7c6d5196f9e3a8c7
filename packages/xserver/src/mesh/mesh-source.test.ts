// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CertificateAuthority, createRoot, readSigningRequest } from "@merlon/identity"
import { meshNames } from "@merlon/policy/mesh"
import { encodeProxyResource, type ProxyResource, resourceVersion } from "@merlon/xds"
import type { Bootstrap } from "@merlon/xds/member"
import { type Caller, MeshServer, type VersionedResource } from "@merlon/xds/server"
import { pino } from "pino"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { Configuration } from "../config/configuration.js"
import { HeldResources } from "./held-resources.js"
import { MeshSource } from "./mesh-source.js"
import { keepState, savedState } from "./saved-state.js"

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

const resource = (name: string, content: ProxyResource): VersionedResource => ({
  name,
  version: resourceVersion(content),
  value: encodeProxyResource(content),
})

function resourcesOf({ bundle, fingerprint }: Authority, ports: readonly number[] = []): readonly VersionedResource[] {
  const mesh = {
    mesh: "merlon",
    domain: "merlon.dev",
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    pathNormalization: "BASE" as const,
    numTrustedProxies: 0,
    providers: [],
  }
  const workload = {
    mesh,
    namespace: "foo",
    name: "a",
    serviceAccount: "web",
    labels: {},
    services: [],
    ports: ports.map(port => ({
      port,
      listen: 15_080,
      protocol: "http" as const,
      upstreamProtocol: "http/1.1" as const,
      serviceNames: [],
      upgrades: [],
    })),
    probes: {},
  }
  const trust = { bundle, signer: fingerprint, revokedIdentities: [], revokedSerials: [] }
  return [resource("workload", { kind: "workload", workload }), resource("trust", { kind: "trust", trust })]
}

/** Replies of proxies: an acknowledged revision, or the reason for which one was rejected. */
const answers: (number | string)[] = []
/** Exposed ports that each proxy had reported when it acknowledged. */
const exposures: unknown[] = []

async function serve(authority: Authority, revision: number, served = resourcesOf(authority)): Promise<MeshServer> {
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
  const resources = new Map(served.map(each => [each.name, each]))
  const server = await MeshServer.start({
    host: "127.0.0.1",
    port: 0,
    credentials: () => credentials,
    verifyToken: async () => CALLER,
    checkCertificate: () => CALLER,
    source: {
      mayWatch: () => undefined,
      open: (_, node) => ({
        watch: () => undefined,
        snapshot: () => ({ revision, resources }),
        acknowledged: (_, acknowledged) => {
          answers.push(acknowledged)
          exposures.push(node.metadata.exposed)
        },
        rejected: (_, __, message) => void answers.push(message),
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

function bootstrapFor(server: MeshServer, { bundle }: Authority): Bootstrap {
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
  writeFileSync(bootstrap.token, "good")
  writeFileSync(bootstrap.trustBundle, bundle)
  return bootstrap
}

/** Every configuration that the source has had enforced. */
async function started(bootstrap: Bootstrap, reportsExposure = false): Promise<readonly Configuration[]> {
  const source = new MeshSource({ bootstrap, logger: pino({ level: "silent" }), reportsExposure })
  closing.unshift(() => source.close())
  const enforced: Configuration[] = []
  await source.start({
    enforce: async configuration => void enforced.push(configuration),
    rejected: () => undefined,
  })
  return enforced
}

const state = () => join(folder, "state")

function keepRevision1(authority: Authority, resources = resourcesOf(authority)): void {
  const held = HeldResources.none.with({ revision: 1, resources, removed: [] })
  keepState(state(), { held, since: Date.now() - 2 * HOUR, credentials: undefined })
}

it("reconnects after the root changed, with a bundle written before it started", async () => {
  const [old, young] = [newAuthority(), newAuthority()]
  const bootstrap = bootstrapFor(await serve(young, 2), young)
  keepRevision1(old)
  const anHourAgo = new Date(Date.now() - HOUR)
  utimesSync(bootstrap.trustBundle, anHourAgo, anHourAgo)
  const enforced = await started(bootstrap)
  await expect.poll(() => enforced.at(-1)?.revision).toBe(2)
})

const deny = (path: string): VersionedResource =>
  resource("policy/AuthorizationPolicy/foo/deny", {
    kind: "policy",
    document: {
      apiVersion: "security.merlon.dev/v1",
      kind: "AuthorizationPolicy",
      metadata: { namespace: "foo", name: "deny" },
      spec: { action: "DENY", rules: [{ to: [{ operation: { paths: [path] } }] }] },
    },
  })

it("receives again what was changed on its disk, whatever version it was kept under", async () => {
  const authority = newAuthority()
  const sent = [...resourcesOf(authority), deny("/admin")]
  const bootstrap = bootstrapFor(await serve(authority, 1, sent), authority)
  keepRevision1(authority, [...resourcesOf(authority), { ...deny("/bdmin"), version: deny("/admin").version }])
  const enforced = await started(bootstrap)
  expect(JSON.stringify(enforced[0]?.policies)).toContain("/bdmin")
  await expect.poll(() => JSON.stringify(enforced.at(-1)?.policies)).toContain("/admin")
})

/** As on a full disk: no new file can be written. */
function blockWrites(): void {
  mkdirSync(join(state(), `mesh-state.json.${process.pid}.new`, "in the way"), { recursive: true })
}

it("keeps no older state to start from if the newer one could not be written", async () => {
  const authority = newAuthority()
  const bootstrap = bootstrapFor(await serve(authority, 2), authority)
  keepRevision1(authority)
  blockWrites()
  answers.length = 0
  await started(bootstrap)
  await expect.poll(() => answers).toEqual([2])
  expect(savedState(state())).toBeUndefined()
})

it("does not acknowledge a revision that an older state on disk would undo", async () => {
  const authority = newAuthority()
  const bootstrap = bootstrapFor(await serve(authority, 2), authority)
  // A folder in the file's place can be neither replaced nor removed like a file.
  mkdirSync(join(state(), "mesh-state.json", "in the way"), { recursive: true })
  answers.length = 0
  const enforced = await started(bootstrap)
  await expect.poll(() => answers).toEqual([expect.stringContaining("a restart would enforce an older configuration")])
  expect(enforced.at(-1)?.revision).toBe(2)
})

it("acknowledges nothing before it has reported that the application bypasses it", {
  tags: ["needs/linux"],
}, async () => {
  const application = createServer().listen(0, "0.0.0.0")
  closing.push(() => application.close())
  await once(application, "listening")
  const { port } = application.address() as AddressInfo // a TCP server has an AddressInfo
  const authority = newAuthority()
  const bootstrap = bootstrapFor(await serve(authority, 1, resourcesOf(authority, [port])), authority)
  exposures.length = 0
  await started(bootstrap, true)
  await expect.poll(() => exposures).toEqual([String(port)])
})
