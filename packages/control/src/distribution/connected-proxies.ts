// SPDX-License-Identifier: Apache-2.0
// The proxies connected to this replica and what each enforces. A proxy that reconnects while its old stream is still
// open has two sessions; the newer one counts.

import { Emitter } from "@merlon/xds/runtime"
import { Burst, type Scheduler } from "../snapshot/burst.js"
import type { CallHandling, Enforced, Enforcer, ProxyLedger, ProxyRecord, Rejection } from "./ledger.js"

export interface ConnectedProxiesOptions {
  readonly scheduler?: Scheduler
  /** Wall clock, in milliseconds. */
  readonly now?: () => number
}

/** Receives which resources were sent and acknowledged. */
export interface ProxySession {
  /** From now on the proxy may enforce these resources instead of the acknowledged ones, or may not yet. */
  sent(resources: Enforced): void
  acknowledged(sent: Enforced): void
  rejected(revision: number, message: string, sent: Enforced): void
  close(): void
}

/** The fields of a node's metadata that are read; values of another type count as absent. */
export interface ProxyMetadata {
  readonly signer?: unknown
  readonly version?: unknown
  readonly certificateNotAfter?: unknown
  readonly calls?: unknown
  readonly enforcer?: unknown
}

const NOTHING: Enforced = new Map()

interface SessionHost {
  changed(key: string): void
  closed(session: Session): void
}

class Session implements ProxySession {
  record: ProxyRecord
  readonly #host: SessionHost
  #acknowledged: Enforced = NOTHING

  constructor(record: ProxyRecord, host: SessionHost) {
    this.record = record
    this.#host = host
  }

  /** INVARIANT: only what the proxy enforces in either case is counted, whether it has applied this already or not. */
  sent(resources: Enforced): void {
    const enforced = inBoth(this.record.enforced, resources)
    if (enforced !== this.record.enforced) this.become({ ...this.record, enforced })
  }

  acknowledged(enforced: Enforced): void {
    this.#acknowledged = enforced
    this.become({ ...this.record, enforced, rejection: undefined })
  }

  rejected(revision: number, message: string, sent: Enforced): void {
    const enforced = this.#acknowledged
    this.become({ ...this.record, enforced, rejection: rejectionOf(revision, message, sent, enforced) })
  }

  close(): void {
    this.#host.closed(this)
  }

  become(record: ProxyRecord): void {
    this.record = record
    this.#host.changed(record.key)
  }
}

const MAX_MESSAGE = 1_024
/** Enough for any version name, without characters that a terminal would interpret. */
const VERSION = /^[\w.+-]{1,64}$/
const SIGNER = /^[0-9a-f]{64}$/

export class ConnectedProxies implements ProxyLedger {
  readonly #now: () => number
  readonly #burst: Burst
  /** Oldest first. */
  readonly #sessions = new Map<string, Session[]>()
  readonly #proxies = new Map<string, ProxyRecord>()
  readonly #changed = new Set<string>()
  readonly #changes = new Emitter<[keys: ReadonlySet<string>]>()
  readonly #host: SessionHost = { changed: key => this.#show(key), closed: session => this.#close(session) }

  constructor({ scheduler, now = Date.now }: ConnectedProxiesOptions = {}) {
    this.#now = now
    this.#burst = new Burst(() => this.#notify(), scheduler)
  }

  get proxies(): ReadonlyMap<string, ProxyRecord> {
    return this.#proxies
  }

  onChange(listener: (keys: ReadonlySet<string>) => void): () => void {
    return this.#changes.on(listener)
  }

  /** `said`: what the proxy reports about its certificate and itself. `pod`: the proven uid of its Pod. */
  connect(key: string, metadata: ProxyMetadata = {}, pod?: string): ProxySession {
    const record: ProxyRecord = {
      key,
      connectedAt: this.#now(),
      enforced: NOTHING,
      rejection: undefined,
      signer: readSigner(metadata.signer),
      version: readVersion(metadata.version),
      certificateNotAfter: readTime(metadata.certificateNotAfter),
      calls: readCalls(metadata.calls),
      enforcer: readEnforcer(metadata.enforcer),
      pod,
    }
    const session = new Session(record, this.#host)
    const sessions = this.#sessions.get(key) ?? []
    sessions.push(session)
    this.#sessions.set(key, sessions)
    this.#show(key)
    return session
  }

  /** Records a certificate that was signed for the proxy; it replaces what the proxy reported when it connected. */
  noteCertificate(key: string, signer: string, certificateNotAfter: number): void {
    for (const session of this.#sessions.get(key) ?? []) {
      session.become({ ...session.record, signer: readSigner(signer), certificateNotAfter })
    }
  }

  #close(session: Session): void {
    const { key } = session.record
    const left = (this.#sessions.get(key) ?? []).filter(other => other !== session)
    if (left.length === 0) this.#sessions.delete(key)
    else this.#sessions.set(key, left)
    this.#show(key)
  }

  #show(key: string): void {
    const record = this.#sessions.get(key)?.at(-1)?.record
    if (this.#proxies.get(key) === record) return
    if (record === undefined) this.#proxies.delete(key)
    else this.#proxies.set(key, record)
    this.#changed.add(key)
    this.#burst.request()
  }

  #notify(): void {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    this.#changes.emit(changed)
  }
}

/** Returns the first map itself if nothing in it differs. */
function inBoth(one: Enforced, other: Enforced): Enforced {
  const same = [...one].filter(([name, { version }]) => other.get(name)?.version === version)
  return same.length === one.size ? one : new Map(same)
}

function rejectionOf(revision: number, message: string, sent: Enforced, enforced: Enforced): Rejection {
  const resources = new Set<string>()
  for (const [name, { version }] of sent) if (enforced.get(name)?.version !== version) resources.add(name)
  return { revision, message: message.slice(0, MAX_MESSAGE), resources }
}

function readSigner(signer: unknown): string | undefined {
  return typeof signer === "string" && SIGNER.test(signer) ? signer : undefined
}

function readVersion(version: unknown): string | undefined {
  return typeof version === "string" && VERSION.test(version) ? version : undefined
}

/** Fail closed: an unknown value counts as not reported. */
export function readCalls(calls: unknown): CallHandling | undefined {
  return calls === "captured" || calls === "http_proxy" ? calls : undefined
}

export function readEnforcer(enforcer: unknown): Enforcer | undefined {
  return enforcer === "authorizer" ? enforcer : undefined
}

/** Undefined if it is not a valid date. */
export function readTime(time: unknown): number | undefined {
  return typeof time === "number" && Number.isSafeInteger(time) && time >= 0 && time <= 8.64e15 ? time : undefined
}
