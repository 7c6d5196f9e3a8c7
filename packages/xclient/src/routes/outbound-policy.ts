// SPDX-License-Identifier: Apache-2.0
// The control plane's last word on destinations without routes: which addresses require mTLS, and whether unknown
// destinations may be called. It decides while the control plane is away, also for a proxy that has just started.

import { CidrIndex, parseCidr, parseIp } from "@merlon/policy/request"
import type { OutboundPolicySpec } from "@merlon/xds"

export class OutboundPolicy {
  #spec: OutboundPolicySpec | undefined
  #blocks = new CidrIndex<true>()
  /** Of what the control plane sent on this or an earlier stream; empty for what was read from disk. */
  version = ""

  /** Undefined as long as the control plane has never said anything. */
  get spec(): OutboundPolicySpec | undefined {
    return this.#spec
  }

  /** Throws where a block cannot be read; what was in force then stays. */
  static readBlocks({ mtls }: OutboundPolicySpec): CidrIndex<true> {
    const blocks = new CidrIndex<true>()
    for (const text of mtls) {
      const block = parseCidr(text)
      // Fail closed: a block that is skipped would let its addresses be called in plaintext.
      if (block === undefined) throw new Error(`\`${text}\` is no address and no CIDR block`)
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

  /** Fail closed: as long as nothing is known, every address might demand it. */
  mayDemandMtls(address: string): boolean {
    const parsed = parseIp(address)
    return this.#spec === undefined || parsed === undefined || this.#blocks.some(parsed, () => true)
  }
}
