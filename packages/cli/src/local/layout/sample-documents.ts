// SPDX-License-Identifier: Apache-2.0
// The objects of the samples' manifests that a local mesh creates: namespaces, service accounts and Services. There is
// no orchestrator for Deployments; their instances are declared workloads.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type MeshNames, meshNames } from "@merlon/policy/mesh"
import { parseAllDocuments } from "yaml"
import type { AnyObject } from "../../ctl/catalog/resource.js"
import { fieldsOf, listOf, textsOf } from "../../ctl/foreign.js"
import { sampleManifests } from "./samples.js"

const POLICIES = ["AuthorizationPolicy", "PeerAuthentication", "PolicyInvariant"]
const KINDS = ["Namespace", "ServiceAccount", "Service", ...POLICIES]
/** The mesh name in the manifests. */
const WRITTEN_FOR = meshNames({ mesh: "merlon", domain: "merlon.dev" })

/** Each object once, namespaces first. */
export function sampleDocuments(samples: string, names: MeshNames, shop: boolean): readonly AnyObject[] {
  const texts = sampleManifests({ shop }).map(file => readFileSync(join(samples, file), "utf8"))
  const found = new Map<string, AnyObject>()
  for (const object of texts.flatMap(text => documentsOf(text, names))) {
    const { name, namespace = "" } = object.metadata
    found.set(`${object.kind}/${namespace}/${name}`, object)
  }
  return [...found.values()].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

export function documentsOf(text: string, names: MeshNames): readonly AnyObject[] {
  return parseAllDocuments(text)
    .map(document => document.toJS() as AnyObject) // our own files, which contain objects
    .filter(({ kind }) => KINDS.includes(kind))
    .map(object => (object.kind === "Service" ? byPortName(object) : ofMesh(object, names)))
}

function ofMesh(object: AnyObject, names: MeshNames): AnyObject {
  if (POLICIES.includes(object.kind)) return { ...object, apiVersion: `${names.securityGroup}/${names.version}` }
  if (object.kind !== "Namespace") return object
  const { [WRITTEN_FOR.injectionLabel]: injection, ...labels } = textsOf(object.metadata.labels)
  const label = injection === undefined ? {} : { [names.injectionLabel]: injection }
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, ...label } } }
}

/** Points a Service to ports by name: an instance whose usual port is taken has another number. */
function byPortName(object: AnyObject): AnyObject {
  const spec = fieldsOf(object.spec)
  const ports = listOf(spec.ports).map(port => ({ ...fieldsOf(port), targetPort: fieldsOf(port).name }))
  return { ...object, spec: { ...spec, ports } }
}
