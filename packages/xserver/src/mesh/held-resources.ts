// SPDX-License-Identifier: Apache-2.0
// The resources received from the control plane, as an immutable value: an update creates a new one, and the old one is
// kept if the new one proves unusable.

import { type MeshConfig, meshConfig, meshNames } from "@merlon/policy/mesh"
import { type PolicyDocument, validate } from "@merlon/policy/resources"
import { decodeProxyResource, type ProxyResource, type TrustSpec, type WorkloadSpec } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"
import type { Bootstrap } from "@merlon/xds/member"
import { messageOf } from "@merlon/xds/runtime"
import type { VersionedResource } from "@merlon/xds/server"
import type { Configuration, TlsMaterial } from "../config/configuration.js"

export interface Update {
  readonly revision: number
  readonly resources: readonly VersionedResource[]
  readonly removed: readonly string[]
}

interface Held {
  readonly resource: VersionedResource
  readonly content: ProxyResource
}

export class HeldResources {
  static readonly none = new HeldResources(0, new Map())

  readonly revision: number
  readonly #held: ReadonlyMap<string, Held>

  private constructor(revision: number, held: ReadonlyMap<string, Held>) {
    this.revision = revision
    this.#held = held
  }

  /** Throws if a resource cannot be read. */
  with({ revision, resources, removed }: Update): HeldResources {
    const held = new Map(this.#held)
    for (const name of removed) held.delete(name)
    for (const resource of resources) held.set(resource.name, read(resource))
    return new HeldResources(revision, held)
  }

  get isEmpty(): boolean {
    return this.#held.size === 0
  }

  get versions(): ReadonlyMap<string, string> {
    return new Map([...this.#held].map(([name, { resource }]) => [name, resource.version]))
  }

  get resources(): readonly VersionedResource[] {
    return [...this.#held.values()].map(({ resource }) => resource)
  }

  get trust(): TrustSpec | undefined {
    for (const { content } of this.#held.values()) if (content.kind === "trust") return content.trust
    return undefined
  }

  /** Throws if the resources do not suffice for a configuration, or are not for this workload. */
  configuration(credentials: WorkloadCredentials | undefined, bootstrap: Bootstrap): Configuration {
    const contents = [...this.#held.values()].map(({ content }) => content)
    const spec = workloadAmong(contents)
    const { trust } = this
    if (trust === undefined) throw new Error("the control plane sent no trust bundle")
    checkWorkload(spec, bootstrap)
    const mesh = meshOf(spec)
    return {
      revision: this.revision,
      mesh,
      workload: pick(spec),
      ports: spec.ports.map(({ port, listen, protocol, upstreamProtocol, serviceNames, upgrades }) => ({
        port,
        protocol,
        upstreamProtocol,
        serviceNames,
        upgrades,
        listen: { host: bootstrap.listen, port: listen },
        upstream: { host: bootstrap.application, port, fallback: bootstrap.applicationFallback ?? [] },
      })),
      policies: contents.flatMap(content => (content.kind === "policy" ? policy(content.document, mesh) : [])),
      keySets: Object.fromEntries(
        contents.flatMap(content => (content.kind === "keySet" ? [[content.keySet.id, content.keySet.jwks]] : [])),
      ),
      tls: credentials && tlsMaterial(credentials, trust),
      revocations: { identities: trust.revokedIdentities, serials: trust.revokedSerials },
      probes: spec.probes,
    }
  }
}

function read(resource: VersionedResource): Held {
  try {
    return { resource, content: decodeProxyResource(resource.value) }
  } catch (error) {
    throw new Error(`\`${resource.name}\` cannot be read: ${messageOf(error)}`)
  }
}

function workloadAmong(contents: readonly ProxyResource[]): WorkloadSpec {
  for (const content of contents) if (content.kind === "workload") return content.workload
  throw new Error("the control plane sent no workload")
}

// The proxy would enforce another workload's configuration just as well, so it is rejected.
function checkWorkload({ namespace, name, mesh }: WorkloadSpec, { workload, names }: Bootstrap): void {
  if (namespace !== workload.namespace || name !== workload.name) {
    throw new Error(
      `the control plane sent the configuration of ${namespace}/${name}, not of ${workload.namespace}/${workload.name}`,
    )
  }
  if (mesh.mesh !== names.mesh || mesh.domain !== names.domain) {
    throw new Error(
      `the control plane serves the mesh ${mesh.mesh} (${mesh.domain}), but the bootstrap configures ${names.mesh}`,
    )
  }
}

function meshOf({ mesh: { mesh, domain, ...settings } }: WorkloadSpec): MeshConfig {
  return meshConfig({ ...settings, names: meshNames({ mesh, domain }) })
}

function pick({ namespace, name, serviceAccount, labels, services }: WorkloadSpec): Configuration["workload"] {
  return { namespace, name, serviceAccount, labels, services }
}

// A policy that cannot be read fails the whole revision: the remaining policies could allow more than intended.
function policy(value: unknown, mesh: MeshConfig): PolicyDocument {
  const { document, errors } = validate(value, mesh.names)
  if (document === undefined)
    throw new Error(`a policy cannot be read: ${errors[0]?.message ?? "it is not a policy document"}`)
  return document
}

function tlsMaterial({ certificateChain, privateKey }: WorkloadCredentials, { bundle }: TrustSpec): TlsMaterial {
  return { certificateChain, privateKey, trustBundle: bundle }
}
