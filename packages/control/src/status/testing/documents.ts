// SPDX-License-Identifier: Apache-2.0
// Stored documents and workloads for tests.

import { meshConfig } from "@merlon/policy/mesh"
import { apiVersionOf, KINDS, type Kind, type PolicyDocument, validate } from "@merlon/policy/resources"
import type { KubernetesObject } from "../../kubernetes/resource-type.js"
import type { MeshWorkload } from "../../registry/mesh-workload.js"

export const mesh = meshConfig()

export function stored(kind: Kind, name: string, spec: object, more: object = {}, namespace = "foo"): KubernetesObject {
  const definition = KINDS.find(candidate => candidate.kind === kind)
  if (definition === undefined) throw new Error(`no kind ${kind}`)
  return {
    apiVersion: apiVersionOf(definition, mesh.names),
    kind,
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      generation: 7,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...more,
    },
    spec,
  }
}

export function document(kind: Kind, name: string, spec: object, more: object = {}, namespace = "foo"): PolicyDocument {
  const { document: valid, errors } = validate(stored(kind, name, spec, more, namespace), mesh.names)
  if (valid === undefined) throw new Error(errors.map(({ message }) => message).join("; "))
  return valid
}

export function workload(key: string, labels: { readonly [key: string]: string } = {}, proxied = true): MeshWorkload {
  const [namespace = "", name = ""] = key.split("/")
  return {
    key,
    namespace,
    name,
    labels,
    services: [],
    uid: `uid-${key}`,
    serviceAccount: "default",
    addresses: ["10.0.0.1"],
    ready: true,
    started: true,
    leaving: false,
    owners: [],
    enforcer: undefined,
    bypass: undefined,
    proxied,
    ports: [],
    udpPorts: [],
    udp: "passed",
    probes: {},
  }
}
