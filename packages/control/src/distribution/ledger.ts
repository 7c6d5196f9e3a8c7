// SPDX-License-Identifier: Apache-2.0
// The connected proxies and what each enforces, as it reports. "Enforced by 12 of 12" is counted from this.

export interface Rejection {
  readonly revision: number
  readonly message: string
  /** Resources of the rejected revision that the proxy does not enforce, by their names on the wire. */
  readonly resources: ReadonlySet<string>
}

/**
 * Resources by name, as last acknowledged, without those of which another version was sent since. For our own proxies
 * it is usually the same map that they were sent: it costs no memory, and a complete one is recognised without
 * comparing its entries.
 */
export type Enforced = ReadonlyMap<string, { readonly version: string }>

/**
 * How a proxy handles the calls of its workload: connections are captured in its Pod, or programs send them by
 * `http_proxy`.
 */
export type CallHandling = "captured" | "http_proxy"

/** What enforces the policies: an xserver in front of a workload, or an authorizer that a gateway queries. */
export type Enforcer = "xserver" | "authorizer"

export interface ProxyRecord {
  /** `namespace/name` of the workload. */
  readonly key: string
  /** Milliseconds since the epoch; of two records of one proxy, the later one counts. */
  readonly connectedAt: number
  readonly enforced: Enforced
  readonly rejection: Rejection | undefined
  /** The root of its certificate, if it reported one; see `TrustSpec.signer`. */
  readonly signer: string | undefined
  /** Version of the proxy, if it reported one. */
  readonly version?: string | undefined
  /** Expiry of its certificate in milliseconds since the epoch, if it was reported or we signed it. */
  readonly certificateNotAfter?: number | undefined
  /** Undefined for a proxy that handles no outbound calls, or is too old to report it. */
  readonly calls?: CallHandling | undefined
  /** Default: an xserver. */
  readonly enforcer?: Enforcer | undefined
  /** The uid of its Pod, if proven. */
  readonly pod?: string | undefined
}

/** As the proxy reports, or as its Pod declares while it is not connected. */
export function enforcerOf(record: ProxyRecord | undefined, declared: Enforcer | undefined): Enforcer {
  return (record === undefined ? declared : record.enforcer) ?? "xserver"
}

export interface ProxyLedger {
  readonly proxies: ReadonlyMap<string, ProxyRecord>
  /** False while some replica's report is missing: then "all proxies" means only the known ones. */
  readonly complete?: boolean
  /** Called once per burst of changes. */
  onChange(listener: (keys: ReadonlySet<string>) => void): () => void
}

/**
 * INVARIANT: an acknowledgement by the proxy of an earlier Pod never counts for a new Pod of the same name, whichever
 * replica reports it.
 */
export function recordOf({ proxies }: ProxyLedger, key: string, uid: string | undefined): ProxyRecord | undefined {
  const record = proxies.get(key)
  return record?.pod === undefined || record.pod === uid ? record : undefined
}
