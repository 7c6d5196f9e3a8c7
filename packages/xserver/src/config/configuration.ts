// SPDX-License-Identifier: Apache-2.0
// Everything that one xserver enforces, as one value that is applied completely or not at all. It comes from a file or
// from the control plane, and the last good one is kept on disk.

import type { Program } from "@merlon/policy/authorization"
import { compile } from "@merlon/policy/authorization"
import type { MeshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { Workload } from "@merlon/policy/selection"
import { type KeySet, keySetId, parseKeySet } from "@merlon/policy/tokens"
import type { ApplicationPort } from "./application-port.js"
import type { Probe } from "./probe.js"

export interface TlsMaterial {
  readonly certificateChain: string
  readonly privateKey: string
  readonly trustBundle: string
}

export interface Revocations {
  /** SPIFFE ids. */
  readonly identities: readonly string[]
  /** Serial numbers in upper-case hex. */
  readonly serials: readonly string[]
}

export interface Configuration {
  /** Grows with each change; a proxy acknowledges it. */
  readonly revision: number
  readonly mesh: MeshConfig
  readonly workload: Workload & { readonly serviceAccount: string }
  readonly ports: readonly ApplicationPort[]
  readonly policies: readonly PolicyDocument[]
  /** JWKS text by key set id (see `keySetId`), for rules without inline keys. */
  readonly keySets: { readonly [id: string]: string }
  /** Undefined if the workload has no identity: it then accepts plaintext only. */
  readonly tls: TlsMaterial | undefined
  readonly revocations: Revocations
  /** The kubelet's probes of the application, which xserver answers, by path. */
  readonly probes: { readonly [path: string]: Probe }
}

/** Throws if something in it is invalid; the caller then keeps the previous configuration. */
export function compileConfiguration(configuration: Configuration): Program {
  const { policies, workload, mesh } = configuration
  const parsed = new Map<string, KeySet | undefined>()
  return compile(policies, workload, mesh, rule => {
    const id = keySetId(rule)
    if (!parsed.has(id)) parsed.set(id, usableKeys(configuration.keySets[id]))
    return parsed.get(id)
  })
}

// Keys that cannot be parsed count as no keys: tokens of the rule are rejected, requests without a token still pass.
function usableKeys(jwks: string | undefined): KeySet | undefined {
  if (jwks === undefined) return undefined
  const result = parseKeySet(jwks)
  return result.ok ? result.keySet : undefined
}
