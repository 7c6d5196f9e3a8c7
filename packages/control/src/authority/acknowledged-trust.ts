// SPDX-License-Identifier: Apache-2.0
// Records which roots the connected proxies have acknowledged. A proxy acknowledges a version; this maps the version to
// its roots. An unknown version counts as no roots, so that a rotation never advances on a guess.

import { readBundle } from "@merlon/identity"
import { resourceNames, type TrustSpec, trustVersion } from "@merlon/xds"
import type { ProxyLedger, ProxyRecord } from "../distribution/ledger.js"

/** Proxies lag a few versions behind, not hundreds. */
const MAX_VERSIONS = 256

export class AcknowledgedTrust {
  readonly #roots = new Map<string, ReadonlySet<string>>()

  /** Call it with every trust before it is sent. */
  remember(trust: TrustSpec): void {
    const version = trustVersion(trust)
    const read = readBundle(trust.bundle)
    const roots = read.ok ? read.certificates.map(({ fingerprint }) => fingerprint) : []
    // Deleted and set again, so that the oldest entry is the one that was sent least recently.
    this.#roots.delete(version)
    this.#roots.set(version, new Set(roots))
    const [oldest] = this.#roots.keys()
    if (this.#roots.size > MAX_VERSIONS && oldest !== undefined) this.#roots.delete(oldest)
  }

  allTrust({ proxies }: ProxyLedger, fingerprints: readonly string[]): boolean {
    return every(proxies, proxy => {
      const roots = this.#rootsOf(proxy)
      return roots !== undefined && fingerprints.every(root => roots.has(root))
    })
  }

  allTrustOnly(ledger: ProxyLedger, fingerprints: readonly string[]): boolean {
    const count = new Set(fingerprints).size
    return this.allTrust(ledger, fingerprints) && every(ledger.proxies, proxy => this.#rootsOf(proxy)?.size === count)
  }

  allSignedBy({ proxies }: ProxyLedger, fingerprint: string): boolean {
    return every(proxies, ({ signer }) => signer === fingerprint)
  }

  #rootsOf({ enforced }: ProxyRecord): ReadonlySet<string> | undefined {
    const version = enforced.get(resourceNames.trust)?.version
    return version === undefined ? undefined : this.#roots.get(version)
  }
}

function every(proxies: ReadonlyMap<string, ProxyRecord>, test: (proxy: ProxyRecord) => boolean): boolean {
  for (const proxy of proxies.values()) if (!test(proxy)) return false
  return true
}
