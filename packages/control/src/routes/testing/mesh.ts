// SPDX-License-Identifier: Apache-2.0
// Short constructors of workloads, Services and documents for tests. Documents pass the real validation.

import { meshConfig } from "@merlon/policy/mesh"
import { type MeshService, type PeerAuthentication, type PolicyDocument, validate } from "@merlon/policy/resources"
import type { MeshServiceEntry, ServicePort } from "../../registry/mesh-directory.js"
import type { MeshWorkload, WorkloadPort } from "../../registry/mesh-workload.js"

export const MESH = meshConfig()
export const CLUSTER_DOMAIN = "cluster.local"
export const SCOPE = { clusterDomain: CLUSTER_DOMAIN, rootNamespace: MESH.names.rootNamespace }

export interface WorkloadSketch {
  readonly namespace?: string
  readonly labels?: { readonly [key: string]: string }
  readonly addresses?: readonly string[]
  readonly ready?: boolean
  readonly proxied?: boolean
  readonly serviceAccount?: string
  readonly ports?: readonly { readonly port: number; readonly name?: string; readonly listen?: number }[]
}

export function workload(name: string, sketch: WorkloadSketch = {}): MeshWorkload {
  const { namespace = "app", labels = {}, ready = true, proxied = true, serviceAccount = "default" } = sketch
  const ports = (sketch.ports ?? [{ port: 8080, name: "http" }]).map(
    ({ port, name: portName, listen }, index): WorkloadPort => ({
      port,
      listen: listen ?? 15_080 + index,
      name: portName,
      protocol: "http",
      upstreamProtocol: "http/1.1",
      serviceNames: [],
      upgrades: [],
    }),
  )
  return {
    key: `${namespace}/${name}`,
    uid: name,
    namespace,
    name,
    labels,
    services: [],
    serviceAccount,
    addresses: sketch.addresses ?? ["10.0.0.1"],
    ready,
    started: true,
    leaving: false,
    owners: [],
    proxied,
    enforcer: undefined,
    bypass: undefined,
    ports,
    udpPorts: [],
    udp: "passed",
    probes: {},
  }
}

export function service(
  name: string,
  sketch: {
    readonly namespace?: string
    readonly selector?: { readonly [key: string]: string } | undefined
    readonly ports?: readonly { readonly port: number; readonly name?: string; readonly targetPort?: number | string }[]
    readonly addresses?: readonly string[]
  } = {},
): MeshServiceEntry {
  const { namespace = "app" } = sketch
  const ports = (sketch.ports ?? [{ port: 80, name: "http", targetPort: 8080 }]).map(
    (entry): ServicePort => ({
      port: entry.port,
      name: entry.name,
      targetPort: entry.targetPort ?? entry.port,
      appProtocol: undefined,
    }),
  )
  return {
    namespace,
    name,
    host: `${name}.${namespace}.svc.${CLUSTER_DOMAIN}`,
    selector: "selector" in sketch ? sketch.selector : { app: name },
    ports,
    addresses: sketch.addresses ?? [],
  }
}

interface DocumentSketch {
  readonly namespace?: string
  readonly created?: string
}

export function meshService(name: string, spec: object, sketch: DocumentSketch = {}): MeshService {
  const document = read("MeshService", MESH.names.networkingGroup, name, spec, sketch)
  if (document.kind !== "MeshService") throw new TypeError("not a MeshService")
  return document
}

export function peerAuthentication(name: string, spec: object, sketch: DocumentSketch = {}): PeerAuthentication {
  const document = read("PeerAuthentication", MESH.names.securityGroup, name, spec, sketch)
  if (document.kind !== "PeerAuthentication") throw new TypeError("not a PeerAuthentication")
  return document
}

function read(kind: string, group: string, name: string, spec: object, sketch: DocumentSketch): PolicyDocument {
  const { namespace = "app", created = "2026-01-01T00:00:00Z" } = sketch
  const metadata = { name, namespace, creationTimestamp: created }
  const outcome = validate({ apiVersion: `${group}/${MESH.names.version}`, kind, metadata, spec }, MESH.names)
  if (outcome.document === undefined) throw new TypeError(JSON.stringify(outcome.errors))
  return outcome.document
}
