// SPDX-License-Identifier: Apache-2.0
// The mesh's certificate authority in a control plane: trusted roots, signing keys, revocations, and the certificates
// of our own listeners. Every replica signs; the leader rotates and writes.

import { type RevocationError, readBundle, type TtlLimits } from "@merlon/identity"
import type { MeshConfig } from "@merlon/policy/mesh"
import { type TrustSpec, trustVersion } from "@merlon/xds"
import { Emitter, type Log } from "@merlon/xds/runtime"
import type { Caller, SessionGrant } from "@merlon/xds/server"
import type { ProxyLedger } from "../distribution/ledger.js"
import type { KubernetesClient } from "../kubernetes/client.js"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { Clock } from "../observe/clock.js"
import { AcknowledgedTrust } from "./acknowledged-trust.js"
import { type AuthorityNames, authorityNames, BUNDLE_KEY } from "./authority-names.js"
import { BundleWriter } from "./bundle-writer.js"
import { type AuthorityFacts, SigningCounter } from "./expiry.js"
import type { KeySource } from "./key-source.js"
import { PluggedIn } from "./plugged-in.js"
import { RevocationList } from "./revocation-list.js"
import type { RootSettings } from "./root-secret.js"
import { RotationDriver } from "./rotation-driver.js"
import { readConfigMapData } from "./secret-data.js"
import { SelfSigned } from "./self-signed.js"
import { ServingCertificate } from "./serving-certificate.js"
import { type SignResult, signWorkload } from "./sign-workload.js"
import { ticketSecret } from "./ticket-secret.js"
import type { TrustSource } from "./trust-source.js"

export interface AuthorityOptions {
  readonly client: KubernetesClient
  readonly mesh: MeshConfig
  /** Secrets of the root namespace. */
  readonly secrets: Reflected<KubernetesObject>
  /** ConfigMaps of the root namespace, including the revocations. */
  readonly configMaps: Reflected<KubernetesObject>
  readonly ttl: TtlLimits
  readonly rootLifetimeMs: number
  /** Folder with an authority that an operator supplies; takes precedence over a Secret with one. */
  readonly folder: string | undefined
  readonly isLeader: () => boolean
  readonly clock: Clock
  /** Numbers from 0 to 1. */
  readonly random: () => number
  /** Called with what a user has to do before there can be an authority; with undefined once there is one. */
  readonly waiting?: (what: string | undefined) => void
  /** Aborts a start that waits for a user. */
  readonly stopped?: AbortSignal
  readonly log: Log
}

export interface BundleTargets {
  readonly namespaces: Reflected<KubernetesObject>
  /** ConfigMaps named `<mesh>-ca-root-cert` in all namespaces. */
  readonly bundles: Reflected<KubernetesObject>
}

export const SETTLE_MS = 60_000

export class Authority implements TrustSource {
  readonly names: AuthorityNames
  readonly #options: AuthorityOptions
  readonly #keys: KeySource
  readonly #rejected: { count: number }
  readonly #revocations: RevocationList
  readonly #acknowledged = new AcknowledgedTrust()
  readonly #counter = new SigningCounter()
  readonly #serving = new Map<string, ServingCertificate>()
  readonly #changes = new Emitter()
  readonly #closers: (() => void)[] = []
  /** Wake-up functions of the tasks that only the leader runs. */
  readonly #wakers: (() => void)[] = []
  #current: TrustSpec
  #version: string

  /** Throws an `AuthorityError` if the mesh's root exists and cannot be used. */
  static async start(options: AuthorityOptions): Promise<Authority> {
    await Promise.all([options.secrets.synced, options.configMaps.synced])
    const rejected = { count: 0 }
    const onRejected = (): void => {
      rejected.count++
    }
    return new Authority(options, await openKeys(options, onRejected), rejected)
  }

  private constructor(options: AuthorityOptions, keys: KeySource, rejected: { count: number }) {
    this.names = authorityNames(options.mesh.names)
    this.#options = options
    this.#keys = keys
    this.#rejected = rejected
    this.#revocations = new RevocationList(options.configMaps, this.names, options.log)
    this.#current = this.#trust()
    this.#version = trustVersion(this.#current)
    this.#acknowledged.remember(this.#current)
    this.#warnOfStrangeRoots()
    const refresh = (): void => this.#refresh()
    this.#closers.push(keys.onChange(refresh), this.#revocations.onChange(refresh))
  }

  get current(): TrustSpec {
    return this.#current
  }

  /** Lets proxies resume TLS sessions with any replica that signs with this key, until the trust changes. */
  get sessions(): SessionGrant {
    return { secret: ticketSecret(this.#keys.current.signer.keys), granted: this.#version }
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener)
  }

  get facts(): AuthorityFacts {
    const { signer, phase } = this.#keys.current
    const { identities, serials, errors } = this.#revocations.lists
    return {
      rootNotAfter: signer.rootNotAfter,
      signerNotAfter: signer.signerNotAfter,
      servingNotAfter: new Map([...this.#serving].map(([name, { current }]) => [name, current.notAfter])),
      requests: this.#counter.counts,
      phase,
      signer: signer.fingerprint,
      rejectedChanges: this.#rejected.count,
      revokedIdentities: identities.length,
      revokedSerials: serials.length,
      revocationErrors: errors.length,
    }
  }

  /** Invalid lines of the revocation list; they revoke nothing. */
  get revocationErrors(): readonly RevocationError[] {
    return this.#revocations.errors
  }

  /** Called whenever the revocations have been read, even if the trust does not change. */
  onRevocationsRead(listener: () => void): () => void {
    return this.#revocations.onChange(listener)
  }

  async sign(
    caller: Caller,
    signingRequest: Uint8Array,
    ttlSeconds: number,
    now = this.#options.clock.now(),
  ): Promise<SignResult> {
    const { mesh, ttl } = this.#options
    const context = { keys: this.#keys, revocations: this.#revocations, trustDomain: mesh.trustDomain, ttl }
    const result = await signWorkload(context, caller, signingRequest, ttlSeconds, now)
    this.#counter.count(result.ok ? "signed" : result.outcome)
    return result
  }

  /** Issues a certificate for one of our listeners, and renews it until `close`. The name is for metrics. */
  serve(name: string, names: readonly string[], identity?: string): ServingCertificate {
    const { ttl, clock, random, log } = this.#options
    const certificate = new ServingCertificate({
      names,
      ...(identity === undefined ? {} : { identity }),
      ttlMs: Math.min(ttl.defaultMs, ttl.maxMs),
      keys: this.#keys,
      clock,
      random,
      log,
    })
    this.#serving.get(name)?.close()
    this.#serving.set(name, certificate)
    return certificate
  }

  /** Starts to advance rotations as proxies acknowledge. The operator rotates a root that they supplied. */
  rotateWith(ledger: ProxyLedger, settleMs = SETTLE_MS): void {
    if (!(this.#keys instanceof SelfSigned)) return
    const { isLeader, clock, log } = this.#options
    const driver = new RotationDriver({
      ...rootSettings(this.#options),
      keys: this.#keys,
      ledger,
      acknowledged: this.#acknowledged,
      isLeader,
      clock,
      log,
      settleMs,
    })
    this.#closers.push(() => driver.close())
    this.#wakers.push(() => void driver.wake())
  }

  /** Starts to maintain the trust bundle in every namespace. */
  distributeTo({ namespaces, bundles }: BundleTargets): void {
    const { client, isLeader, clock, log } = this.#options
    const writer = new BundleWriter({
      client,
      names: this.names,
      namespaces,
      configMaps: bundles,
      bundle: () => this.#current.bundle,
      isLeader,
      clock,
      log,
    })
    this.#wakers.push(() => writer.wake())
    this.#closers.push(
      this.onChange(() => writer.wake()),
      () => writer.close(),
    )
  }

  /** Runs the leader's tasks now, without waiting for their next interval. */
  leadershipChanged(): void {
    for (const wake of this.#wakers) wake()
  }

  close(): void {
    for (const close of this.#closers.splice(0)) close()
    for (const certificate of this.#serving.values()) certificate.close()
    this.#revocations.close()
    this.#keys.close()
    this.#changes.clear()
  }

  /**
   * The bundles in the namespaces are what workloads have trusted so far. A start without any of those roots splits the
   * mesh: an operator may want that, and must be told.
   */
  #warnOfStrangeRoots(): void {
    const { namespace, bundleConfigMap } = this.names
    const configMap = this.#options.configMaps.items.get(`${namespace}/${bundleConfigMap}`)
    const held = configMap && readBundle(readConfigMapData(configMap).get(BUNDLE_KEY) ?? "")
    const now = readBundle(this.#current.bundle)
    if (!held?.ok || !now.ok) return
    const trusted = new Set(held.certificates.map(({ fingerprint }) => fingerprint))
    if (now.certificates.some(({ fingerprint }) => trusted.has(fingerprint))) return
    this.#options.log.error(
      { trusted: [...trusted], signer: this.#current.signer },
      "the mesh starts with roots that its workloads do not trust yet; workloads reject each other until all have renewed their certificates",
    )
  }

  #trust(): TrustSpec {
    const { signer, bundle } = this.#keys.current
    const { identities, serials } = this.#revocations.lists
    return { bundle, signer: signer.fingerprint, revokedIdentities: identities, revokedSerials: serials }
  }

  #refresh(): void {
    const next = this.#trust()
    const version = trustVersion(next)
    if (version === this.#version) return
    // INVARIANT: remembered before listeners run, so that no proxy acknowledges a version that we do not know.
    this.#acknowledged.remember(next)
    this.#current = next
    this.#version = version
    this.#changes.emit()
  }
}

async function openKeys(options: AuthorityOptions, onRejected: () => void): Promise<KeySource> {
  const { folder, secrets, clock, log, isLeader } = options
  const { namespace, pluggedInSecret } = authorityNames(options.mesh.names)
  if (folder !== undefined) return PluggedIn.fromFolder(folder, { clock, log, onRejected })
  const secret = secrets.items.get(`${namespace}/${pluggedInSecret}`)
  if (secret !== undefined) return PluggedIn.fromSecret(secret, secrets, { clock, log, onRejected })
  const { waiting = () => undefined, stopped = new AbortController().signal } = options
  const settings = { ...rootSettings(options), isLeader, log, onRejected, waiting, stopped }
  const keys = await SelfSigned.open(settings, secrets)
  keys.follow(secrets)
  return keys
}

function rootSettings({ client, mesh, rootLifetimeMs, ttl, clock }: AuthorityOptions): RootSettings {
  return {
    client,
    names: authorityNames(mesh.names),
    trustDomain: mesh.trustDomain,
    rootLifetimeMs,
    defaultTtlMs: Math.min(ttl.defaultMs, ttl.maxMs),
    now: () => clock.now(),
  }
}
