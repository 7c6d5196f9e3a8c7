// SPDX-License-Identifier: Apache-2.0
// A cluster and what of the control plane serves routes, in this process: the embedded API, reflectors, registry, routes
// and the mesh port with real TLS. Tests write documents and hold certificates; they know nothing of what is behind.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startCluster } from "@merlon/cluster"
import { CertificateAuthority, createRoot, makeSigningRequest, readSigningRequest } from "@merlon/identity"
import { meshConfig } from "@merlon/policy"
import { loadRouteEncoders, MeshServer, type TrustSpec } from "@merlon/xds"
import { ConnectedProxies } from "../../../../packages/control/src/distribution/connected-proxies.js"
import { Distribution } from "../../../../packages/control/src/distribution/distribution.js"
import { installDefinitions } from "../../../../packages/control/src/install/install.js"
import { connectionFrom } from "../../../../packages/control/src/kubernetes/connection-from.js"
import { httpClient } from "../../../../packages/control/src/kubernetes/http-client.js"
import { Reflector } from "../../../../packages/control/src/kubernetes/reflector-loop.js"
import {
  type KubernetesObject,
  NAMESPACES,
  PODS,
  policyTypes,
  type ResourceType,
  SERVICES,
} from "../../../../packages/control/src/kubernetes/resource-type.js"
import { Registry } from "../../../../packages/control/src/registry/registry.js"
import { feedRegistry } from "../../../../packages/control/src/registry/registry-feed.js"
import { PeerModeSource } from "../../../../packages/control/src/routes/peer-mode-source.js"
import { MeshRoutes } from "../../../../packages/control/src/routes/route-resources.js"
import { ValidDocuments } from "../../../../packages/control/src/routes/valid-documents.js"

const HOUR = 3_600_000
const mesh = meshConfig()
const kinds = policyTypes(mesh.names)
const TYPES: { readonly [kind: string]: ResourceType } = {
  Namespace: NAMESPACES,
  Pod: PODS,
  Service: SERVICES,
  ...kinds,
}

export interface Papers {
  readonly certificateChain: string
  readonly privateKey: string
  readonly trustBundle: string
}

export interface MeshControl {
  /** Of the mesh port on 127.0.0.1. */
  readonly port: number
  /** Creates the document or merges it into what is there; the status of a Pod too. */
  apply(document: KubernetesObject): Promise<void>
  delete(kind: string, namespace: string, name: string): Promise<void>
  /** A certificate of the mesh for a workload. */
  papersOf(namespace: string, serviceAccount: string): Papers
  close(): Promise<void>
}

export async function startMeshControl(): Promise<MeshControl> {
  const folder = await mkdtemp(join(tmpdir(), "mesh-control-"))
  const cluster = await startCluster({ dataDir: folder, port: 0 })
  const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
  const client = httpClient(connection, { userAgent: "test", fieldManager: "test" })
  await installDefinitions({ client, names: mesh.names })

  const reflect = (type: ResourceType) => new Reflector<KubernetesObject>({ client, type })
  const sources = {
    pods: reflect(PODS),
    services: reflect(SERVICES),
    meshServices: reflect(kinds.MeshService),
    peerAuthentications: reflect(kinds.PeerAuthentication),
  }
  const reflectors = Object.values(sources)
  const registry = new Registry({ names: mesh.names })
  const feed = feedRegistry(registry, sources)
  const meshServices = new ValidDocuments("MeshService", sources.meshServices, mesh.names)
  const peerAuthentications = new ValidDocuments("PeerAuthentication", sources.peerAuthentications, mesh.names)
  for (const reflector of reflectors) reflector.start()
  await Promise.all(reflectors.map(({ synced }) => synced))

  const authority = new CertificateAuthority(createRoot({ trustDomain: mesh.trustDomain, now: Date.now() }), Date.now())
  const current: TrustSpec = {
    bundle: authority.bundle,
    signer: authority.fingerprint,
    revokedIdentities: [],
    revokedSerials: [],
  }
  const trust = { current, onChange: () => () => {} }
  const modes = new PeerModeSource(peerAuthentications, mesh)
  const encoders = await loadRouteEncoders()
  const routes = new MeshRoutes({ directory: registry, meshServices, modes, trust, encoders, mesh })
  const distribution = new Distribution({
    mesh,
    directory: registry,
    trust,
    // No proxy connects here.
    views: { get: () => undefined, onChange: () => () => {} },
    proxies: new ConnectedProxies(),
    routes,
  })
  const server = await MeshServer.start({
    host: "127.0.0.1",
    port: 0,
    papers: () => servingPapers(authority),
    verifyToken: async () => undefined,
    checkCertificate: ({ id: { trustDomain, namespace, serviceAccount }, serial }) => ({
      trustDomain,
      namespace,
      serviceAccount,
      proof: "certificate",
      serial,
    }),
    source: distribution,
    sign: async () => ({ code: "UNAVAILABLE", message: "nothing is signed here" }),
    report: () => {},
  })

  return {
    port: server.port,
    apply: async document => {
      const type = TYPES[document.kind]
      if (type === undefined) throw new TypeError(`no such kind: ${document.kind}`)
      const { name, namespace } = document.metadata
      const where = namespace === undefined ? {} : { namespace }
      const existing = await client.get(type, name, namespace)
      if (existing === undefined) await client.create(type, document)
      else await client.patch(type, name, document, { ...where, type: "merge" })
      const { status } = document
      if (status !== undefined) {
        await client.patch(type, name, { status }, { ...where, type: "merge", subresource: "status" })
      }
    },
    delete: async (kind, namespace, name) => {
      await client.delete(TYPES[kind] ?? PODS, name, namespace)
    },
    papersOf: (namespace, serviceAccount) =>
      workloadPapers(authority, `spiffe://${mesh.trustDomain}/ns/${namespace}/sa/${serviceAccount}`),
    close: async () => {
      await server.close()
      distribution.stop()
      routes.close()
      feed.stop()
      await Promise.all(reflectors.map(reflector => reflector.stop()))
      await client.close()
      await cluster.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function freshKey() {
  const { privateKey, request } = makeSigningRequest()
  const read = readSigningRequest(request)
  if (!("publicKey" in read)) throw new TypeError("our own signing request cannot be read")
  return { privateKey, publicKey: read.publicKey }
}

function workloadPapers(authority: CertificateAuthority, identity: string): Papers {
  const { privateKey, publicKey } = freshKey()
  const { certificateChain } = authority.sign({ publicKey, identity, ttlMs: HOUR, now: Date.now() })
  return { certificateChain, privateKey, trustBundle: authority.bundle }
}

function servingPapers(authority: CertificateAuthority) {
  const { privateKey, publicKey } = freshKey()
  const { certificateChain } = authority.signServer({
    publicKey,
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    ttlMs: HOUR,
    now: Date.now(),
  })
  return { certificateChain, privateKey, clientTrustBundle: authority.bundle }
}
