// SPDX-License-Identifier: Apache-2.0
// In-memory dependencies of an authority that a test controls: API, clock, leadership, acknowledgements.

import { createRoot, DEFAULT_TTL_LIMITS, readBundle } from "@merlon/identity"
import { meshConfig } from "@merlon/policy/mesh"
import { resourceNames, type TrustSpec, trustVersion } from "@merlon/xds"
import type { Log } from "@merlon/xds/runtime"
import type { ProxyLedger, ProxyRecord } from "../../distribution/ledger.js"
import { CONFIG_MAPS, type KubernetesObject, NAMESPACES, SECRETS } from "../../kubernetes/resource-type.js"
import { ManualClock } from "../../observe/testing/manual-clock.js"
import { Authority, type AuthorityOptions } from "../authority.js"
import { authorityNames } from "../authority-names.js"
import type { RootSettings } from "../root-secret.js"
import { MemoryCluster } from "./memory-cluster.js"

export const HOUR = 3_600_000
export const YEAR = 365 * 24 * HOUR
const MESH = meshConfig()
export const NAMES = authorityNames(MESH.names)
export const SECRET_KEY = `${NAMES.namespace}/${NAMES.rootSecret}`

export class MemoryLog implements Log {
  readonly lines: string[] = []

  info(_: object, message: string): void {
    this.lines.push(`info ${message}`)
  }

  warn(_: object, message: string): void {
    this.lines.push(`warn ${message}`)
  }

  error(_: object, message: string): void {
    this.lines.push(`error ${message}`)
  }
}

/** Proxies that report what the test sets. */
class MemoryLedger implements ProxyLedger {
  readonly proxies = new Map<string, ProxyRecord>()
  complete = true
  readonly #listeners = new Set<(keys: ReadonlySet<string>) => void>()

  onChange(listener: (keys: ReadonlySet<string>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  says(key: string, trust: TrustSpec | undefined, signer: string | undefined): void {
    const enforced = new Map(trust === undefined ? [] : [[resourceNames.trust, { version: trustVersion(trust) }]])
    this.proxies.set(key, { key, connectedAt: 0, enforced, rejection: undefined, signer })
    this.#notify(key)
  }

  leaves(key: string): void {
    this.proxies.delete(key)
    this.#notify(key)
  }

  #notify(key: string): void {
    for (const listener of this.#listeners) listener(new Set([key]))
  }
}

export class Stage {
  readonly cluster = new MemoryCluster()
  readonly clock = new ManualClock(Date.UTC(2026, 10, 15))
  readonly log = new MemoryLog()
  readonly ledger = new MemoryLedger()
  leading = true

  get rootSettings(): RootSettings {
    return {
      client: this.cluster,
      names: NAMES,
      trustDomain: MESH.trustDomain,
      rootLifetimeMs: 10 * YEAR,
      defaultTtlMs: DEFAULT_TTL_LIMITS.defaultMs,
      now: () => this.clock.now(),
    }
  }

  options(changes: Partial<AuthorityOptions> = {}): AuthorityOptions {
    return {
      client: this.cluster,
      mesh: MESH,
      secrets: this.cluster.reflect(SECRETS),
      configMaps: this.cluster.reflect(CONFIG_MAPS),
      ttl: DEFAULT_TTL_LIMITS,
      rootLifetimeMs: 10 * YEAR,
      folder: undefined,
      isLeader: () => this.leading,
      clock: this.clock,
      random: () => 0.5,
      log: this.log,
      ...changes,
    }
  }

  authority(changes: Partial<AuthorityOptions> = {}): Promise<Authority> {
    return Authority.start(this.options(changes))
  }

  root() {
    return createRoot({ trustDomain: MESH.trustDomain, now: this.clock.now() })
  }

  get secret(): KubernetesObject {
    const secret = this.cluster.objects.get(`secrets/${SECRET_KEY}`)
    if (secret === undefined) throw new Error("there is no root Secret")
    return secret
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    const { metadata } = this.secret
    this.cluster.put(SECRETS, {
      ...this.secret,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    })
  }

  configMap(name: string, data: Readonly<Record<string, string>>, namespace = NAMES.namespace): KubernetesObject {
    return this.cluster.put(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data })
  }

  namespace(name: string, deletionTimestamp?: string): KubernetesObject {
    const metadata = { name, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) }
    return this.cluster.put(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata })
  }
}

export function secretObject(name: string, files: Readonly<Record<string, string>>): KubernetesObject {
  const data = Object.fromEntries(
    Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]),
  )
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: NAMES.namespace }, data }
}

export function fingerprints(bundle: string): readonly string[] {
  const read = readBundle(bundle)
  if (!read.ok) throw new Error(read.message)
  return read.certificates.map(({ fingerprint }) => fingerprint)
}
