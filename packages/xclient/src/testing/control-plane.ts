// SPDX-License-Identifier: Apache-2.0
// A control plane for tests: the real ADS server with host routes that the test sets, signing with the test's
// authority. It writes the bootstrap file with which a caller joins.

import { createPrivateKey, createPublicKey } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeSigningRequest, readSigningRequest } from "@merlon/identity"
import { encodeHostRoutes, HOST_ROUTES, type HostRoutesSpec } from "@merlon/xds"
import { type Caller, MeshServer, type ResourceSource, type VersionedResource } from "@merlon/xds/server"
import { CONSUMER_ID, type TestMesh } from "./mesh.js"

export const TOKEN = "a-good-token"
const SERVER_NAME = "merlond.merlon-system.svc"
const HOUR = 3_600_000
const CALLER: Caller = {
  trustDomain: "cluster.local",
  namespace: "app",
  serviceAccount: "consumer",
  proof: "token",
  pod: "consumer-1",
}

export class TestControlPlane {
  readonly folder = mkdtempSync(join(tmpdir(), "merlon-xclient-"))
  readonly #mesh: TestMesh
  readonly #resources = new Map<string, VersionedResource>()
  readonly #wakes = new Set<(typeUrl: string) => void>()
  readonly rejected: string[] = []
  signed = 0
  acknowledged = 0
  #server: MeshServer | undefined
  #revision = 1

  constructor(mesh: TestMesh) {
    this.#mesh = mesh
  }

  get bootstrap(): string {
    return join(this.folder, "bootstrap.yaml")
  }

  async start(port = 0): Promise<void> {
    this.#server = await MeshServer.start({
      host: "127.0.0.1",
      port,
      credentials: () => this.#credentials(),
      verifyToken: async token => (token === TOKEN ? CALLER : undefined),
      checkCertificate: ({ id }) => (id.uri === CONSUMER_ID ? { ...CALLER, proof: "certificate" } : undefined),
      source: this.#source(),
      sign: async (_, request) => this.#sign(request),
      report: () => undefined,
    })
    writeFileSync(join(this.folder, "root.pem"), this.#mesh.authority.bundle)
    writeFileSync(join(this.folder, "token"), TOKEN)
    const document = {
      controlPlane: { address: `127.0.0.1:${this.#server.port}` },
      workload: { namespace: "app", name: "consumer-1", serviceAccount: "consumer" },
      trustBundle: "root.pem",
      token: "token",
      state: "state",
    }
    writeFileSync(this.bootstrap, JSON.stringify(document))
  }

  set(name: string, spec: HostRoutesSpec | undefined): void {
    this.#revision += 1
    if (spec === undefined) this.#resources.delete(name)
    else this.#resources.set(name, { name, version: String(this.#revision), value: encodeHostRoutes(spec) })
    for (const wake of [...this.#wakes]) wake(HOST_ROUTES)
  }

  async stop(): Promise<void> {
    await this.#server?.close()
    this.#server = undefined
  }

  async close(): Promise<void> {
    await this.stop()
    rmSync(this.folder, { recursive: true })
  }

  #credentials() {
    const { authority } = this.#mesh
    const { privateKey } = makeSigningRequest()
    const publicKey = createPublicKey(createPrivateKey(privateKey)).export({ type: "spki", format: "der" })
    const { certificateChain } = authority.signServer({
      publicKey,
      dnsNames: [SERVER_NAME],
      ipAddresses: [],
      ttlMs: HOUR,
      now: Date.now(),
    })
    return { certificateChain, privateKey, clientTrustBundle: authority.bundle }
  }

  #sign(request: Uint8Array) {
    const read = readSigningRequest(request)
    if (!read.ok) return { code: "INVALID_ARGUMENT" as const, message: read.message }
    this.signed += 1
    const { authority } = this.#mesh
    const { publicKey } = read
    const { certificateChain } = authority.sign({ publicKey, identity: CONSUMER_ID, ttlMs: HOUR, now: Date.now() })
    return { certificateChain, trustBundle: authority.bundle }
  }

  #source(): ResourceSource {
    return {
      mayWatch: (_caller, _node, typeUrl) =>
        typeUrl === HOST_ROUTES ? undefined : { code: "PERMISSION_DENIED", message: "nothing else here" },
      open: (_caller, _node, wake) => {
        let watched: "*" | ReadonlySet<string> = new Set()
        this.#wakes.add(wake)
        return {
          watch: (_typeUrl, names) => {
            watched = names
          },
          snapshot: () => ({
            revision: this.#revision,
            resources: new Map([...this.#resources].filter(([name]) => watched === "*" || watched.has(name))),
          }),
          acknowledged: () => {
            this.acknowledged += 1
          },
          rejected: (_typeUrl, _revision, message) => void this.rejected.push(message),
          close: () => void this.#wakes.delete(wake),
        }
      },
    }
  }
}
