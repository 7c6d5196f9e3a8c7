// SPDX-License-Identifier: Apache-2.0
// Which proxies are connected and what each enforces, by its own report. "Enforced by 12 of 12" is counted from this.

export interface Rejection {
  readonly revision: number
  readonly message: string
  /** Resources of the rejected revision that the proxy does not enforce, by their names on the wire. */
  readonly resources: ReadonlySet<string>
}

/**
 * Resources by name, as last acknowledged, without those of which something else was sent since. Of our own proxies it is
 * mostly the very map that they were sent, so that keeping it costs nothing and one that has all is known without a look at its parts.
 */
export type Enforced = ReadonlyMap<string, { readonly version: string }>

/**
 * How a proxy takes the calls of its workload: connections are captured in its Pod, or programs have to send them by `http_proxy`.
 */
export type CallsTaken = "captured" | "http_proxy"

/** What enforces the policies: an xserver in front of a workload, or an authorizer that a gateway asks. */
export type Enforcer = "xserver" | "authorizer"

export interface ProxyRecord {
  /** `namespace/name` of the workload. */
  readonly key: string
  /** Milliseconds since the epoch; of two records of one proxy the later one counts. */
  readonly connectedAt: number
  readonly enforced: Enforced
  readonly rejection: Rejection | undefined
  /** The root its certificate comes from, where it said so; see `TrustSpec.signer`. */
  readonly signer: string | undefined
  /** Of the proxy itself, where it said so. */
  readonly version?: string | undefined
  /** When its certificate ends, in milliseconds since the epoch, where it said so or we signed it. */
  readonly certificateNotAfter?: number | undefined
  /** Undefined for a proxy that takes no calls, or is too old to say so. */
  readonly calls?: CallsTaken | undefined
  /** Default: an xserver. */
  readonly enforcer?: Enforcer | undefined
  /** The uid of its Pod, where that was proven. */
  readonly pod?: string | undefined
}

/** By its own word, or that of its Pod as long as it is not connected. */
export function enforcerOf(record: ProxyRecord | undefined, declared: Enforcer | undefined): Enforcer {
  return (record === undefined ? declared : record.enforcer) ?? "xserver"
}

export interface ProxyLedger {
  readonly proxies: ReadonlyMap<string, ProxyRecord>
  /** False while some replica's word is missing: then "all proxies" means only those we know of. */
  readonly complete?: boolean
  /** Called once for a burst of changes. */
  onChange(listener: (keys: ReadonlySet<string>) => void): () => void
}

/** INVARIANT: what the proxy of an earlier Pod acknowledged never counts for a new Pod of the same name, whichever replica says so. */
export function recordOf({ proxies }: ProxyLedger, key: string, uid: string | undefined): ProxyRecord | undefined {
  const record = proxies.get(key)
  return record?.pod === undefined || record.pod === uid ? record : undefined
}
