// SPDX-License-Identifier: Apache-2.0
// Advances a root rotation in the leader: whenever proxies acknowledge a version, the Secret changes, or a minute has
// passed. The rules are in the identity package; this provides their inputs.

import { advance, type RotationFacts, rootFingerprint } from "@merlon/identity"
import { type Log, messageOf } from "@merlon/xds/runtime"
import type { ProxyLedger } from "../distribution/ledger.js"
import type { Clock } from "../observe/clock.js"
import type { AcknowledgedTrust } from "./acknowledged-trust.js"
import type { AuthorityNames } from "./authority-names.js"
import { makeRoot, type RootSettings } from "./root-secret.js"
import type { SelfSigned } from "./self-signed.js"
import type { StoredRoot } from "./stored-root.js"

export interface RotationDriverOptions extends RootSettings {
  readonly keys: SelfSigned
  readonly ledger: ProxyLedger
  readonly acknowledged: AcknowledgedTrust
  readonly isLeader: () => boolean
  readonly clock: Clock
  readonly log: Log
  /**
   * How long a replica has to be the leader, and a phase to last, before the ledger counts. Right after a restart no
   * proxy is connected yet, so "all connected proxies" would mean none.
   */
  readonly settleMs: number
}

const TICK_MS = 60_000
/** Other replicas may sign with the old root until they have seen the change. */
const REPLICA_LAG_MS = 10 * 60_000
/** Long enough to be unambiguous. */
const MIN_FINGERPRINT = 16

export class RotationDriver {
  readonly #options: RotationDriverOptions
  readonly #unsubscribe: readonly (() => void)[]
  #cancel: () => void = () => undefined
  #leadingSince: number | undefined
  #running = false
  #again = false
  #closed = false

  constructor(options: RotationDriverOptions) {
    this.#options = options
    const wake = (): void => void this.wake()
    // Proxies report often, and without a rotation nothing depends on it.
    const underWay = (): boolean => options.keys.current.phase !== "steady"
    this.#unsubscribe = [options.ledger.onChange(() => underWay() && wake()), options.keys.onChange(wake)]
    this.#tick()
  }

  /** Runs one check at a time; events during a check cause another one. */
  async wake(): Promise<void> {
    this.#again = true
    if (this.#running) return
    this.#running = true
    try {
      while (this.#again && !this.#closed) {
        this.#again = false
        await this.#look()
      }
    } catch (error) {
      // The next tick retries; nothing was changed.
      this.#options.log.error({ error: messageOf(error) }, "root rotation cannot continue; retrying")
    } finally {
      this.#running = false
    }
  }

  close(): void {
    this.#closed = true
    this.#cancel()
    for (const stop of this.#unsubscribe) stop()
  }

  #tick(): void {
    void this.wake()
    this.#cancel = this.#options.clock.after(Math.min(TICK_MS, Math.max(1000, this.#options.settleMs)), () =>
      this.#tick(),
    )
  }

  async #look(): Promise<void> {
    const { isLeader, clock, keys, log } = this.#options
    if (!isLeader()) {
      this.#leadingSince = undefined
      return
    }
    this.#leadingSince ??= clock.monotonic()
    await keys.update(stored => {
      // Checked again on every attempt: a replica that has lost the lease must not write.
      if (!isLeader()) return undefined
      const next = this.#next(stored)
      if (next !== undefined) log.warn({ from: stored.state.phase, to: next.state.phase }, "root rotation continues")
      return next
    })
  }

  #next(stored: StoredRoot): StoredRoot | undefined {
    const facts = this.#facts(stored)
    const state = advance(stored.state, facts, () => makeRoot(this.#options))
    if (state === stored.state) return undefined
    const signs = state.phase === "sign" && stored.state.phase === "distribute"
    const past = signs ? [...stored.past, rootFingerprint(stored.state.current)] : stored.past
    const lastOldExpiry = signs ? facts.now + stored.longestTtlMs + REPLICA_LAG_MS : stored.lastOldExpiry
    return { ...stored, state, lastOldExpiry, past }
  }

  #facts({ state, lastOldExpiry }: StoredRoot): RotationFacts {
    const { clock, settleMs, ledger, acknowledged, keys, names } = this.#options
    const now = clock.now()
    const leading = clock.monotonic() - (this.#leadingSince ?? clock.monotonic())
    // A phase that began in the future began when the clock was wrong.
    const lasted = Math.abs(now - state.since)
    const settled = leading >= settleMs && lasted >= settleMs && ledger.complete !== false
    return {
      now,
      demand: keys.annotations[names.annotations.rotate],
      allTrust: roots => settled && acknowledged.allTrust(ledger, roots),
      allTrustOnly: roots => settled && acknowledged.allTrustOnly(ledger, roots),
      allSignedBy: root => settled && acknowledged.allSignedBy(ledger, root),
      lastOldExpiry,
      retireNow: state.phase === "sign" && demandsRetirement(names, keys.annotations, rootFingerprint(state.previous)),
    }
  }
}

/** The annotation must name the root to drop, so that an old annotation cannot shorten another rotation. */
function demandsRetirement(
  { annotations: { retire } }: AuthorityNames,
  annotations: Readonly<Record<string, string>>,
  oldRoot: string,
): boolean {
  const named = annotations[retire]?.trim().toLowerCase() ?? ""
  return named.length >= MIN_FINGERPRINT && oldRoot.startsWith(named)
}
