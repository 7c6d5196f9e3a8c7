// SPDX-License-Identifier: Apache-2.0
// Signing keys that we generated. Every replica follows the Secret; writes use compare-and-set, so that no replica
// reverts another's. If the Secret becomes unreadable or is replaced by a foreign one while we run, nothing changes:
// the last good keys stay in use.

import {
  bundleOf,
  CertificateAuthority,
  IdentityError,
  type RotationState,
  readBundle,
  servingKeys,
} from "@merlon/identity"
import { Emitter, type Log, messageOf } from "@merlon/xds/runtime"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { AuthorityError, type KeySource, type SigningKeys } from "./key-source.js"
import {
  createRootSecret,
  ExpiredRootError,
  fetchRootSecret,
  openRootSecret,
  type RootSecret,
  type RootSettings,
  replacedRootSecret,
  replaceRootSecret,
  unreadable,
} from "./root-secret.js"
import { readSecretData } from "./secret-data.js"
import { readStoredRoot, type StoredRoot } from "./stored-root.js"

export interface SelfSignedOptions extends RootSettings {
  readonly isLeader: () => boolean
  readonly log: Log
  /** Called when a change of the Secret was rejected. */
  readonly onRejected: () => void
  /** Called with what a user has to do before there can be an authority; with undefined once there is one. */
  readonly waiting: (what: string | undefined) => void
  /** Aborts the waiting. */
  readonly stopped: AbortSignal
}

const MAX_ATTEMPTS = 8
const LOOK_AGAIN_MS = 5_000

export class SelfSigned implements KeySource {
  readonly #options: SelfSignedOptions
  readonly #changes = new Emitter()
  #secret: RootSecret
  #keys: SigningKeys
  #unfollow: (() => void) | undefined

  /** Waits for an operator if the root has expired: restarting in a loop would not help. */
  static async open(options: SelfSignedOptions, secrets: Reflected<KubernetesObject>): Promise<SelfSigned> {
    let output = ""
    for (;;) {
      try {
        const opened = new SelfSigned(options, await openRootSecret(options))
        options.waiting(undefined)
        return opened
      } catch (error) {
        if (!(error instanceof ExpiredRootError)) throw error
        if (error.message !== output) options.log.error({}, error.message)
        output = error.message
        options.waiting(output)
        await changeOf(secrets, `${options.names.namespace}/${options.names.rootSecret}`, options.stopped)
      }
    }
  }

  private constructor(options: SelfSignedOptions, secret: RootSecret) {
    this.#options = options
    this.#secret = secret
    this.#keys = keysOf(secret.stored, options.now())
  }

  get current(): SigningKeys {
    return this.#keys
  }

  get stored(): StoredRoot {
    return this.#secret.stored
  }

  /** Annotations of the Secret, with which users make requests. */
  get annotations(): Readonly<Record<string, string>> {
    return this.#secret.object.metadata.annotations ?? {}
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener)
  }

  follow(secrets: Reflected<KubernetesObject>): void {
    const { namespace, rootSecret, pluggedInSecret } = this.#options.names
    const key = `${namespace}/${rootSecret}`
    const pluggedIn = `${namespace}/${pluggedInSecret}`
    this.#unfollow = secrets.onChange(change => {
      if (change.key === key) this.#changed(change.object)
      if (change.key === pluggedIn && change.previous === undefined)
        this.#options.log.warn({}, pluggedInLater(pluggedIn))
    })
    const seen = secrets.items.get(key)
    if (seen !== undefined) this.#changed(seen)
  }

  /**
   * Writes the result of `change` for the stored root, unless it is undefined. Retries if another replica wrote first.
   */
  async update(change: (secret: StoredRoot) => StoredRoot | undefined): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const next = change(this.#secret.stored)
      if (next === undefined) return
      const written = await replaceRootSecret(this.#options, this.#secret, next)
      if (written !== undefined) {
        this.#take(written)
        return
      }
      const fresh = await fetchRootSecret(this.#options)
      if (fresh === undefined)
        throw new AuthorityError("root-gone", "the Secret with the root CA was deleted; nothing was written")
      if (!this.#isOurs(fresh.stored))
        throw new AuthorityError("root-foreign", "the Secret contains the root CA of another mesh")
      this.#take(fresh)
    }
    throw new AuthorityError("root-contended", "the Secret with the root CA changes faster than it can be written")
  }

  async allowTtl(ttlMs: number): Promise<void> {
    await this.update(stored => (stored.longestTtlMs >= ttlMs ? undefined : { ...stored, longestTtlMs: ttlMs }))
  }

  close(): void {
    this.#unfollow?.()
    this.#changes.clear()
  }

  #changed(object: KubernetesObject | undefined): void {
    const { log, names, now, onRejected } = this.#options
    if (object === undefined) {
      this.#gone()
      return
    }
    // A reflector delivers versions in order, including versions older than our own last write.
    if (!isNewer(object, this.#secret.object)) return
    const read = readStoredRoot(readSecretData(object), now())
    if (!read.ok && this.#hasEnded(object)) {
      this.#replaceExpired()
      return
    }
    // Fails closed: neither an unreadable root nor one that proxies cannot trust replaces the last good one.
    if (!read.ok || !this.#isOurs(read.stored)) {
      onRejected()
      const reason = read.ok ? "it contains the root CA of another mesh" : read.message
      log.error({ reason }, `${unreadable(names, reason)}; the last valid one stays in use`)
      return
    }
    this.#take({ object, stored: read.stored })
  }

  /** Whether the Secret is valid except that the root has expired. */
  #hasEnded(object: KubernetesObject): boolean {
    const atAnyTime = readStoredRoot(readSecretData(object), Number.NEGATIVE_INFINITY)
    return atAnyTime.ok && this.#isOurs(atAnyTime.stored)
  }

  /** The change may be a user's request for a new root; if not, the log repeats how to make one. */
  #replaceExpired(): void {
    const { log } = this.#options
    replacedRootSecret(this.#options)
      .then(replaced => {
        if (replaced !== undefined && this.#isOurs(replaced.stored)) this.#take(replaced)
      })
      .catch((error: unknown) => log.error({}, messageOf(error)))
  }

  /**
   * The Secret was deleted. We still have its contents, and without it the next start would generate a root that no
   * proxy trusts.
   */
  #gone(): void {
    const { isLeader, log } = this.#options
    log.error({}, "the Secret with the root CA was deleted")
    if (!isLeader()) return
    createRootSecret(this.#options, this.#secret.stored)
      .then(created => {
        if (created === undefined) return
        log.warn({}, "the Secret with the root CA was restored")
        this.#take(created)
      })
      .catch((error: unknown) =>
        log.error({ error: messageOf(error) }, "the Secret with the root CA cannot be restored"),
      )
  }

  #isOurs(next: StoredRoot): boolean {
    const { fingerprint } = this.#keys.signer
    return next.past.includes(fingerprint) || fingerprintsOf(bundleOf(next.state)).includes(fingerprint)
  }

  #take(secret: RootSecret): void {
    // While the write was in progress, the copy may have received a later version.
    if (!isNewer(secret.object, this.#secret.object)) return
    const keys = keysOf(secret.stored, this.#options.now())
    this.#secret = secret
    this.#keys = keys
    this.#changes.emit()
  }
}

/** Also resolves after a timeout, because the change may have arrived just before this wait began. */
function changeOf(secrets: Reflected<KubernetesObject>, key: string, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      unfollow()
      stopped.removeEventListener("abort", stop)
      settle()
    }
    const stop = (): void => end(() => reject(new AuthorityError("stopped", "stopped while waiting for a new root CA")))
    const timer = setTimeout(() => end(resolve), LOOK_AGAIN_MS)
    const unfollow = secrets.onChange(change => {
      if (change.key === key) end(resolve)
    })
    if (stopped.aborted) stop()
    else stopped.addEventListener("abort", stop, { once: true })
  })
}

function pluggedInLater(key: string): string {
  return (
    `the Secret \`${key}\` is used from the next start of the control plane; until then Merlon's own root CA signs. ` +
    "Add Merlon's root to its bundle, or workloads will reject each other after that start"
  )
}

function keysOf({ state }: StoredRoot, now: number): SigningKeys {
  const signer = new CertificateAuthority(state.current, now)
  return { signer, server: serverOf(state, now) ?? signer, bundle: bundleOf(state), phase: state.phase }
}

/** Undefined if the old root has expired: then no proxy trusts it any more, not even one that was offline. */
function serverOf(state: RotationState, now: number): CertificateAuthority | undefined {
  try {
    return new CertificateAuthority(servingKeys(state), now)
  } catch (error) {
    if (error instanceof IdentityError && error.code === "expired-signer") return undefined
    throw error
  }
}

/** Versions are increasing numbers in all known API servers; others are only compared for equality. */
function isNewer({ metadata: { resourceVersion: a = "" } }: KubernetesObject, than: KubernetesObject): boolean {
  const b = than.metadata.resourceVersion ?? ""
  return /^\d+$/.test(a) && /^\d+$/.test(b) ? BigInt(a) > BigInt(b) : a !== b
}

function fingerprintsOf(bundle: string): readonly string[] {
  const read = readBundle(bundle)
  return read.ok ? read.certificates.map(({ fingerprint }) => fingerprint) : []
}
