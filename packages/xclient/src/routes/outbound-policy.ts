// SPDX-License-Identifier: Apache-2.0
// The control plane's latest policy for destinations without routes: which addresses require mTLS, and whether unknown
// destinations may be called. It decides while the control plane is down, also for a proxy that has just started.

import { CidrIndex, parseCidr, parseIp } from "@merlon/policy/request"
import type { OutboundPolicySpec } from "@merlon/xds"

export class OutboundPolicy {
  #spec: OutboundPolicySpec | undefined
  #blocks = new CidrIndex<true>()
  /** Version that the control plane sent on this or an earlier stream; empty if it was read from disk. */
  version = ""

  /** Undefined until the control plane has sent one. */
  get spec(): OutboundPolicySpec | undefined {
    return this.#spec
  }

  /** Throws if a block is invalid; the current policy then stays in effect. */
  static readBlocks({ mtls }: OutboundPolicySpec): CidrIndex<true> {
    const blocks = new CidrIndex<true>()
    for (const text of mtls) {
      const block = parseCidr(text)
      // Fail closed: addresses of a skipped block could be called in plaintext.
      if (block === undefined) throw new Error(`\`${text}\` is neither an address nor a CIDR block`)
      blocks.entry(block, () => true)
    }
    return blocks
  }

  set(spec: OutboundPolicySpec, version: string): void {
    this.#blocks = OutboundPolicy.readBlocks(spec)
    this.#spec = spec
    this.version = version
  }

  get isRegistryOnly(): boolean {
    return this.#spec?.mode === "REGISTRY_ONLY"
  }

  /** Fail closed: while nothing is known, any address may require it. */
  mayDemandMtls(address: string): boolean {
    const parsed = parseIp(address)
    return this.#spec === undefined || parsed === undefined || this.#blocks.some(parsed, () => true)
  }
}
