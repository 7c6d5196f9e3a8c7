// SPDX-License-Identifier: Apache-2.0
// A cluster and a whole control plane in this process: the embedded API, admission, registry, authority and the mesh
// port with real TLS. Tests write documents and use certificates, and do not depend on internals.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startCluster } from "@merlon/cluster"
import { CertificateAuthority, makeSigningRequest, ROOT_LIFETIME_MS, readSigningRequest } from "@merlon/identity"
import { meshConfig } from "@merlon/policy"
import { pino } from "pino"
import { authorityNames } from "../../../../packages/control/src/authority/authority-names.js"
import { openRootSecret } from "../../../../packages/control/src/authority/root-secret.js"
import { connectionFrom } from "../../../../packages/control/src/kubernetes/connection-from.js"
import { httpClient } from "../../../../packages/control/src/kubernetes/http-client.js"
import {
  type KubernetesObject,
  NAMESPACES,
  PODS,
  policyTypes,
  type ResourceType,
  SERVICES,
} from "../../../../packages/control/src/kubernetes/resource-type.js"
import { ControlPlane } from "../../../../packages/control/src/serve/control-plane.js"

const HOUR = 3_600_000
const mesh = meshConfig()
const TYPES: { readonly [kind: string]: ResourceType } = {
  Namespace: NAMESPACES,
  Pod: PODS,
  Service: SERVICES,
  ...policyTypes(mesh.names),
}

export interface Credentials {
  readonly certificateChain: string
  readonly privateKey: string
  readonly trustBundle: string
}

export interface MeshControl {
  /** The mesh port, on 127.0.0.1. */
  readonly port: number
  /** Creates the document or merges it into the stored one, including the status of a Pod. */
  apply(document: KubernetesObject): Promise<void>
  delete(kind: string, namespace: string, name: string): Promise<void>
  /** A certificate of the mesh for a workload. */
  credentialsOf(namespace: string, serviceAccount: string): Credentials
  close(): Promise<void>
}

export async function startMeshControl(): Promise<MeshControl> {
  const folder = await mkdtemp(join(tmpdir(), "mesh-control-"))
  const cluster = await startCluster({ dataDir: folder, port: 0 })
  const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
  const client = httpClient(connection, { userAgent: "test", fieldManager: "test" })
  const control = await ControlPlane.start({
    client,
    mesh,
    outboundPolicy: "ALLOW_ANY",
    clusterDomain: "cluster.local",
    replica: "one",
    hasCluster: false,
    answersApi: true,
    // A busy machine must not make an invariant undecided.
    proofBudgetMs: 5_000,
    historyEntries: 200,
    listen: { host: "127.0.0.1", meshPort: 0, webhookPort: 0, healthPort: 0, replicaPort: 0 },
    replicaHost: "127.0.0.1",
    servingNames: ["localhost", "127.0.0.1"],
    webhooks: { url: port => `https://127.0.0.1:${port}` },
    certificates: {
      defaultTtlMs: 24 * HOUR,
      maxTtlMs: 24 * HOUR,
      rootLifetimeMs: ROOT_LIFETIME_MS,
      rotationSettleMs: HOUR,
      folder: undefined,
    },
    keySets: { authorities: undefined, denyPrivateAddresses: false, allowLoopback: true, perNamespace: 100 },
    injection: { image: "merlon", capture: "service", controlPlane: "127.0.0.1:15012", nativeSidecar: false },
    traces: undefined,
    logger: pino({ level: "silent" }),
  })
  // A reader of the root Secret may sign for every workload; a test acts for all workloads that it names.
  const { stored } = await openRootSecret({
    client,
    names: authorityNames(mesh.names),
    trustDomain: mesh.trustDomain,
    rootLifetimeMs: ROOT_LIFETIME_MS,
    defaultTtlMs: 24 * HOUR,
    now: Date.now,
  })
  const authority = new CertificateAuthority(stored.state.current, Date.now())

  return {
    port: control.ports.mesh,
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
    credentialsOf: (namespace, serviceAccount) =>
      workloadCredentials(authority, `spiffe://${mesh.trustDomain}/ns/${namespace}/sa/${serviceAccount}`),
    close: async () => {
      await control.stop()
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

function workloadCredentials(authority: CertificateAuthority, identity: string): Credentials {
  const { privateKey, publicKey } = freshKey()
  const { certificateChain } = authority.sign({ publicKey, identity, ttlMs: HOUR, now: Date.now() })
  return { certificateChain, privateKey, trustBundle: authority.bundle }
}
