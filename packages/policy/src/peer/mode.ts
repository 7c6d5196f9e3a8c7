// SPDX-License-Identifier: Apache-2.0
// The mTLS mode of a workload's port. At mesh, namespace and workload scope, at most one PeerAuthentication counts: the
// oldest. The narrowest scope that sets a mode wins. The result includes the reason: the winner, the policies it
// overrides, and the policies that an older one of the same scope supersedes.

import type { PolicyRef } from "../authorization/rule.js"
import type { MeshConfig } from "../mesh/config.js"
import type { PeerAuthentication, PolicyDocument } from "../resources/document.js"
import { isShadow } from "../selection/shadow.js"
import { byAge, hasLabels, isBehind, selects, type Workload } from "../selection/workload.js"

export type EffectiveMode = "DISABLE" | "PERMISSIVE" | "STRICT"
export type PeerScope = "mesh" | "namespace" | "workload"

export interface ScopeSay {
  readonly scope: PeerScope
  readonly policy: PolicyRef
  /** UNSET if it leaves the decision to the wider scope. */
  readonly mode: EffectiveMode | "UNSET"
}

export interface OverriddenPolicy {
  readonly policy: PolicyRef
  /** The older policy of the same scope that applies instead; absent if this one applies. */
  readonly supersededBy: PolicyRef | undefined
  readonly reason: string
}

export interface ModeResolution {
  readonly mode: EffectiveMode
  /** The policy that decided; absent if no policy sets the mode and the default applies. */
  readonly winner: (ScopeSay & { readonly port: boolean }) | undefined
  /** All policies that were considered, the widest scope first. */
  readonly asked: readonly ScopeSay[]
  readonly losers: readonly OverriddenPolicy[]
  /** The mode if shadow policies were enforced; absent if none applies. */
  readonly shadow: EffectiveMode | undefined
}

const DEFAULT_MODE: EffectiveMode = "PERMISSIVE"

/** The scope in which the policy applies to the workload; undefined if it does not apply. */
export function peerScope(policy: PeerAuthentication, workload: Workload, mesh: MeshConfig): PeerScope | undefined {
  const { namespace } = policy.metadata
  const { targetRefs } = policy.spec
  if (workload.gateway !== undefined) return undefined
  if (targetRefs !== undefined) {
    return namespace === workload.namespace && isBehind(targetRefs, workload, mesh.names) ? "workload" : undefined
  }
  const selective = hasLabels(policy.spec.selector)
  if (namespace === mesh.names.rootNamespace && !selective) return "mesh"
  // In the root namespace a selector is ignored by design: such a policy would be neither mesh-wide nor for one
  // namespace.
  if (namespace !== workload.namespace || namespace === mesh.names.rootNamespace) return undefined
  if (!selective) return "namespace"
  return selects(policy.spec.selector, workload) ? "workload" : undefined
}

/** The modes of a workload's ports, by the PeerAuthentications among the documents. */
export class PeerModes {
  readonly #enforced: Resolver
  readonly #promoted: Resolver | undefined
  readonly #fixed: EffectiveMode | undefined
  /** Looked up with each request, for the same few ports. */
  readonly #resolved = new Map<number, ModeResolution>()

  constructor(documents: Iterable<PolicyDocument>, workload: Workload, mesh: MeshConfig) {
    this.#fixed = fixedMode(workload)
    const policies: PeerAuthentication[] = []
    for (const document of documents) {
      if (document.kind === "PeerAuthentication" && isAsked(document, workload, mesh)) policies.push(document)
    }
    policies.sort(byAge)
    const enforced = policies.filter(policy => !isShadow(policy, mesh))
    this.#enforced = new Resolver(enforced, workload, mesh)
    if (enforced.length < policies.length) this.#promoted = new Resolver(policies, workload, mesh)
  }

  /** `port` is the workload's own port, never the Service's. */
  resolve(port: number): ModeResolution {
    let resolution = this.#resolved.get(port)
    if (resolution === undefined) {
      const { mode, ...reasons } = this.#enforced.resolve(port)
      resolution = { mode: this.#fixed ?? mode, ...reasons, shadow: this.#promoted?.resolve(port).mode }
      this.#resolved.set(port, resolution)
    }
    return resolution
  }
}

/**
 * The mode of the proxy of an Istio Gateway, which no PeerAuthentication changes: a gateway sees no identities of the
 * mesh, and a waypoint takes only connections with one.
 */
function fixedMode({ gateway }: Workload): EffectiveMode | undefined {
  if (gateway === undefined) return undefined
  return gateway.isWaypoint ? "STRICT" : "DISABLE"
}

function isAsked(policy: PeerAuthentication, workload: Workload, mesh: MeshConfig): boolean {
  if (workload.gateway !== undefined) return false
  const ignored = policy.metadata.namespace === mesh.names.rootNamespace && hasLabels(policy.spec.selector)
  return peerScope(policy, workload, mesh) !== undefined || (ignored && selects(policy.spec.selector, workload))
}

class Resolver {
  readonly #scopes = new Map<PeerScope, PeerAuthentication>()
  readonly #overridden: OverriddenPolicy[] = []

  constructor(oldestFirst: readonly PeerAuthentication[], workload: Workload, mesh: MeshConfig) {
    for (const policy of oldestFirst) {
      const scope = peerScope(policy, workload, mesh)
      const older = scope && this.#scopes.get(scope)
      if (scope === undefined) {
        const reason = "a selector in the root namespace is ignored; move the policy into the workload's namespace"
        this.#overridden.push({ policy: refOf(policy), supersededBy: undefined, reason })
      } else if (older === undefined) {
        this.#scopes.set(scope, policy)
      } else {
        const reason = `an older policy of the same ${scope} scope wins; port maps are not merged`
        this.#overridden.push({ policy: refOf(policy), supersededBy: refOf(older), reason })
      }
    }
  }

  resolve(port: number): Omit<ModeResolution, "shadow"> {
    const asked: ScopeSay[] = []
    let winner: ModeResolution["winner"]
    for (const scope of ["mesh", "namespace", "workload"] as const) {
      const policy = this.#scopes.get(scope)
      if (policy === undefined) continue
      const base = policy.spec.mtls?.mode ?? "UNSET"
      const say = { scope, policy: refOf(policy), mode: base }
      asked.push(say)
      if (base !== "UNSET") winner = { ...say, mode: base, port: false }
      const ports = policy.spec.portLevelMtls ?? {}
      const own = scope === "workload" && Object.hasOwn(ports, String(port)) ? ports[String(port)]?.mode : undefined
      if (own !== undefined && own !== "UNSET") winner = { ...say, mode: own, port: true }
    }
    const mode = winner === undefined || winner.mode === "UNSET" ? DEFAULT_MODE : winner.mode
    return { mode, winner, asked, losers: this.#overridden }
  }
}

function refOf({ metadata: { namespace, name } }: PeerAuthentication): PolicyRef {
  return { namespace, name }
}
