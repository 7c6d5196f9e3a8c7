// SPDX-License-Identifier: Apache-2.0
// `targetRefs` of Istio's policies: reading them, since Istio allows other kinds than Merlon does, and what is known of
// each target.

import type { MeshConfig, MeshNames } from "@merlon/policy/mesh"
import { concerns } from "@merlon/policy/proof"
import { type PolicyDocument, type Validation, validate } from "@merlon/policy/resources"
import { WAYPOINT_CLASS, type Workload } from "@merlon/policy/selection"
import { type Fields, fieldsOf, textOf } from "../foreign.js"
import { TARGETING_KINDS, targetsOf } from "./dialect.js"
import type { InputLog, Scope } from "./inputs.js"
import { GATEWAY_GROUP } from "./istio-gateways.js"
import { gatewayNameOf, type IstioProxies } from "./istio-proxies.js"

type Targeting = Extract<PolicyDocument, { kind: "AuthorizationPolicy" | "RequestAuthentication" }>

/** The groups of the kinds that Istio attaches policies to. */
const GROUPS: { readonly [kind: string]: readonly string[] } = {
  Gateway: [GATEWAY_GROUP],
  GatewayClass: [GATEWAY_GROUP],
  Service: ["", "core"],
  ServiceEntry: ["networking.istio.io"],
}

/**
 * Validates a policy of Istio with its targets. Targets that Istio may not attach get a kind of their own, which
 * selects nothing: `logTargets` reports them.
 */
export function validateTargeting(
  value: unknown,
  names: MeshNames,
  options: { readonly namespace?: string } = {},
): Validation {
  const { spec, ...others } = fieldsOf(value)
  const { targetRef: _, targetRefs: __, ...rest } = fieldsOf(spec)
  const written = targetsOf(fieldsOf(spec))
  // What is wrong with such a document in Merlon is wrong with it in Istio.
  if (rest.selector !== undefined || !written.every(({ kind, name }) => textOf(kind) && textOf(name)))
    return validate(value, names, options)
  const validation = validate({ ...others, spec: rest }, names, options)
  const { document } = validation
  if (document === undefined) return validation
  const policy = document as Targeting // by its kind
  const targetRefs = written.map(target => readTarget(target, policy.metadata.namespace))
  return { ...validation, document: { ...policy, spec: { ...policy.spec, targetRefs } } }
}

function readTarget(
  target: Fields,
  own: string,
): { readonly group: string; readonly kind: string; readonly name: string } {
  const [group, kind, name] = [textOf(target.group) ?? "", String(target.kind), String(target.name)]
  const others = Object.keys(target).filter(key => !["group", "kind", "name", "namespace"].includes(key))
  const isElsewhere = target.namespace !== undefined && target.namespace !== "" && target.namespace !== own
  const isKnown = Object.hasOwn(GROUPS, kind) && GROUPS[kind]?.includes(group) === true
  if (isKnown && !isElsewhere && others.length === 0) return { group, kind, name }
  const words = [
    isKnown ? kind : `${kind} of ${group === "" ? "the core group" : `the group \`${group}\``}`,
    ...(isElsewhere ? [`of namespace ${String(target.namespace)}`] : []),
  ]
  return { group, kind: [...words, ...others.map(key => `with ${key}`)].join(" "), name }
}

/** Targets of which it is not known, or not modelled, what Istio attaches the policy to. */
interface OpenTarget {
  readonly what: string
  readonly scope: Scope
}

function openTargets(policy: PolicyDocument, proxies: IstioProxies, rootNamespace: string): readonly OpenTarget[] {
  if (!isTargeting(policy)) return []
  const { kind, metadata } = policy
  return refsOf(policy).flatMap((target): readonly OpenTarget[] => {
    const id = `${metadata.namespace}/${target.name}`
    const open = (why: string, scope: Scope): readonly OpenTarget[] => {
      const what = `${kind} ${metadata.namespace}/${metadata.name}: not modelled: it targets ${target.kind} ${id}, ${why}`
      return [{ what, scope }]
    }
    switch (target.kind) {
      case "GatewayClass": {
        const isForWaypoints = target.name === WAYPOINT_CLASS && metadata.namespace === rootNamespace
        return isForWaypoints && !proxies.hasWaypoints ? open("and no waypoint was read", () => false) : []
      }
      case "Gateway": {
        const gateway = proxies.gateway(metadata.namespace, target.name)
        if (gateway !== undefined && gateway.why === undefined) return []
        return open(gateway?.why ?? "which was not read", one => {
          const isProxy = one.namespace === metadata.namespace && gatewayNameOf(one) === target.name
          return isProxy && one.gateway === undefined
        })
      }
      case "Service":
      case "ServiceEntry": {
        const use = proxies.waypointOf(target.kind, id)
        return "unknown" in use ? open(`of which the waypoint is not known: ${use.unknown}`, () => false) : []
      }
      default:
        return open("a target that is not modelled", one => gatewayNameOf(one) !== undefined)
    }
  })
}

/** Logs what is not known of the targets of policies, and notes targets at which Istio does not enforce the policy. */
export function logTargets(
  policies: readonly PolicyDocument[],
  proxies: IstioProxies,
  { names: { rootNamespace } }: MeshConfig,
  log: Pick<InputLog, "skip">,
  note: (text: string) => void,
): void {
  for (const policy of policies) {
    for (const { what, scope } of openTargets(policy, proxies, rootNamespace)) log.skip(what, scope)
    if (!isTargeting(policy)) continue
    const { kind, metadata } = policy
    for (const { kind: of, name } of refsOf(policy)) {
      const id = `${metadata.namespace}/${name}`
      const say = (which: string) =>
        note(`${kind} ${metadata.namespace}/${metadata.name} targets ${which}: it is not enforced there`)
      if (of === "GatewayClass") {
        if (name !== WAYPOINT_CLASS) say(`GatewayClass ${name}, to which Istio attaches no policy`)
        else if (metadata.namespace !== rootNamespace) say(`GatewayClass ${name} outside of the root namespace`)
      } else if (of === "Service" || of === "ServiceEntry") {
        const use = proxies.waypointOf(of, id)
        if ("none" in use) say(`${of} ${id}, which ${use.none}`)
      }
    }
  }
}

/** Logs changed policies that have targets of which it is not known which proxies they lead to. */
export function logChangedTargets(
  changed: readonly PolicyDocument[],
  proxies: IstioProxies,
  { names: { rootNamespace } }: MeshConfig,
  log: Pick<InputLog, "skip">,
): void {
  for (const policy of changed) for (const { what } of openTargets(policy, proxies, rootNamespace)) log.skip(what)
}

/** Of what a rule reads: what our model of a sidecar does not tell at the proxies of Gateways. */
const UNLIKE_SIDECARS =
  /^(remoteIpBlocks|notRemoteIpBlocks|remote\.ip|connection\.sni|request\.headers\[x-forwarded-.*\])$/i
/** Only at waypoints, which callers reach through a tunnel. */
const UNLIKE_AT_WAYPOINTS = /^(ipBlocks|notIpBlocks|source\.ip)$/

/**
 * Logs policies at gateways and waypoints on values that are not those that a sidecar sees: addresses and headers that
 * depend on the trusted proxies in front, and the server name of callers without an identity of the mesh.
 */
export function logUnlikeSidecars(
  policies: readonly PolicyDocument[],
  workloads: readonly Workload[],
  mesh: MeshConfig,
  log: Pick<InputLog, "skip">,
): void {
  if (workloads.every(({ gateway }) => gateway === undefined)) return
  for (const policy of policies) {
    if (policy.kind !== "AuthorizationPolicy") continue
    const read = (policy.spec.rules ?? []).flatMap(({ from = [], when = [] }) => [
      ...from.flatMap(({ source }) => Object.keys(source ?? {})),
      ...when.map(({ key }) => key),
    ])
    const anywhere = read.find(one => UNLIKE_SIDECARS.test(one))
    const first = anywhere ?? read.find(one => UNLIKE_AT_WAYPOINTS.test(one))
    if (first === undefined) continue
    const { namespace, name } = policy.metadata
    const place = anywhere === undefined ? "waypoints" : "gateways and waypoints"
    log.skip(
      `AuthorizationPolicy ${namespace}/${name}: not modelled at ${place}: \`${first}\``,
      one =>
        one.gateway !== undefined && (anywhere !== undefined || one.gateway.isWaypoint) && concerns(policy, one, mesh),
    )
  }
}

const isTargeting = (policy: PolicyDocument): policy is Targeting =>
  TARGETING_KINDS.includes(policy.kind) && "targetRefs" in policy.spec && policy.spec.targetRefs !== undefined

const refsOf = ({ spec }: Targeting) => spec.targetRefs ?? []
