// SPDX-License-Identifier: Apache-2.0
// The mesh that policies in files are written for: Merlon, or Istio with its own API groups. The API groups of the
// policies decide, a flag overrides them, and a set for both is an error. Documents that our model of Istio does not
// cover are reported.

import { type MeshNames, meshNames } from "@merlon/policy/mesh"
import { readDocuments } from "@merlon/policy/resources"
import type { SourceText } from "../documents/sources.js"
import { CommandError, usageError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import type { Scope } from "./inputs.js"
import { GATEWAY_NAME } from "./istio-gateways.js"

const MERLON = meshNames()
export const ISTIO: MeshNames = { ...meshNames({ mesh: "istio", domain: "istio.io" }), version: "v1" }
/** The same limit as for reading policies. */
export const MAX_CHARACTERS = 16 << 20
const NAMES = { merlon: MERLON, istio: ISTIO } as const

export const DIALECTS = ["merlon", "istio"] as const

export interface DialectFlags {
  readonly dialect?: (typeof DIALECTS)[number]
  readonly mesh?: string
  readonly domain?: string
}

export const isIstio = ({ domain }: MeshNames): boolean => domain === ISTIO.domain

/** The mesh that the flags name; Merlon's by default. */
function namesOf({ dialect, mesh, domain }: DialectFlags): MeshNames {
  if (dialect === undefined) return meshNames({ ...(mesh && { mesh }), ...(domain && { domain }) })
  if (mesh !== undefined || domain !== undefined)
    throw usageError("`--dialect` goes without `--mesh` and `--domain`, which name a mesh of your own")
  return NAMES[dialect]
}

/** The mesh that the flags name, else the one of the texts. */
export function namesIn(texts: readonly SourceText[], flags: DialectFlags): MeshNames {
  const { dialect, mesh, domain } = flags
  return [dialect, mesh, domain].some(flag => flag !== undefined) ? namesOf(flags) : detected(texts)
}

// JSON may escape the slash.
const MENTIONS_ISTIO = /\b(?:security|networking)\.istio\.io\\?\//
const MENTIONS_MERLON = /\b(?:security|networking)\.merlon\.dev\\?\//

/**
 * Decides by the API groups of policies. Texts are parsed only if they mention both, since a mention is not yet a
 * policy.
 */
function detected(texts: readonly SourceText[]): MeshNames {
  if (!texts.some(({ text }) => MENTIONS_ISTIO.test(text))) return MERLON
  if (!texts.some(({ text }) => MENTIONS_MERLON.test(text))) return ISTIO
  const [istios, ours] = [firstOf(ISTIO, texts), firstOf(MERLON, texts)]
  if (istios !== undefined && ours !== undefined)
    throw new CommandError(
      "mixed-dialects",
      `the policies are written for two meshes: ${istios} for Istio, ${ours} for Merlon\n` +
        "ask about each set on its own, or pass `--dialect istio` or `--dialect merlon` to read one of them",
    )
  return istios === undefined ? MERLON : ISTIO
}

/**
 * The first policy of the mesh, for a message. Invariants exist only in Merlon's group, and may accompany policies of
 * Istio.
 */
function firstOf({ securityGroup, networkingGroup }: MeshNames, texts: readonly SourceText[]): string | undefined {
  for (const { name, text } of texts) {
    for (const { apiVersion, kind, metadata } of objectsIn(text)) {
      const group = textOf(apiVersion)?.split("/")[0]
      if (kind === INVARIANT || (group !== securityGroup && group !== networkingGroup)) continue
      return `${name}: ${textOf(kind) ?? "a document"} ${textOf(fieldsOf(metadata).name) ?? ""}`.trim()
    }
  }
  return undefined
}

const INVARIANT = "PolicyInvariant"

/** Whether it is an invariant in Merlon's group that accompanies policies of Istio, and so belongs to this set. */
export function isOurInvariant(value: unknown, names: MeshNames): boolean {
  const { apiVersion, kind } = fieldsOf(value)
  return isIstio(names) && kind === INVARIANT && textOf(apiVersion)?.startsWith(`${MERLON.securityGroup}/`) === true
}

/** Kinds of Istio that can change which requests a workload's proxy allows. */
const DECIDING = ["EnvoyFilter", "WasmPlugin", "TrafficExtension", "Sidecar"]

export interface NotModelled {
  readonly why: string
  /** Whether the answer depends on it, and is therefore not decided. */
  readonly matters: boolean
  /** The workloads that it affects. */
  readonly scope?: Scope
  readonly isWorkload?: true
}

const WORKLOADS = ["WorkloadEntry", "WorkloadGroup"]

/** Describes a document of Istio that our model does not cover. */
export function notModelled(value: unknown, names: MeshNames): NotModelled | undefined {
  const { apiVersion, kind, spec } = fieldsOf(value)
  const [group = ""] = (textOf(apiVersion) ?? "").split("/")
  if (!isIstio(names) || !/(^|\.)istio\.io$/.test(group) || kind === "IstioOperator") return undefined
  if (WORKLOADS.includes(textOf(kind) ?? ""))
    return { why: "not modelled: it runs outside Kubernetes; describe it as a Pod", matters: true, isWorkload: true }
  if (group !== names.securityGroup) {
    const isDeciding = DECIDING.includes(textOf(kind) ?? "")
    const isInbound = isDeciding && concernsInbound(value)
    // What is for outgoing calls of a sidecar is for the requests that a gateway receives.
    const matters = isInbound || (isDeciding && kind !== "Sidecar")
    const effect = isInbound ? "it can change" : "it does not change"
    const proxy = matters && !isInbound ? "sidecar" : "proxy"
    const scope = scopeOf(value)
    return {
      why: `not modelled: ${effect} which requests a workload's ${proxy} allows`,
      matters,
      scope: (one, root) => (isInbound || one.gateway !== undefined) && scope(one, root),
    }
  }
  const { action, rules } = fieldsOf(spec)
  const unknown = kind === INVARIANT ? undefined : fieldThatIstioDrops(fieldsOf(spec))
  if (unknown !== undefined) {
    const why = `not modelled: \`${unknown}\` is no field of Istio, which ignores it; remove it`
    return { why, matters: true, scope: scopeOf(value) }
  }
  const condition = listOf(rules)
    .flatMap(conditionKeys)
    .find(key => key.startsWith("experimental.envoy.") || OWN_HEADER.test(key))
  if (condition !== undefined) {
    const about = OWN_HEADER.test(condition) ? ", on a header that Envoy itself writes or removes" : ""
    return { why: `not modelled: the condition \`${condition}\`${about}`, matters: true, scope: scopeOf(value) }
  }
  // Istio asks the provider before it reads tokens, and our rules see headers after: those that tokens write may differ.
  if (action === "CUSTOM" && listOf(rules).some(readsHeaders))
    return {
      why: "not modelled: a CUSTOM rule on headers sees them before tokens are read",
      matters: true,
      scope: scopeOf(value),
    }
  if (TARGETING_KINDS.includes(textOf(kind) ?? "") || !hasTargets(value)) return undefined
  return { why: `not modelled: a ${String(kind)} has no targets in Istio`, matters: true, scope: scopeOf(value) }
}

/** Policies of Istio with targets: istio-targets.ts reads them. */
export const TARGETING_KINDS: readonly string[] = ["AuthorizationPolicy", "RequestAuthentication"]

/** Whether it applies to gateways and waypoints. */
export const hasTargets = (value: unknown): boolean => targetsOf(fieldsOf(fieldsOf(value).spec)).length > 0

/** Whether it is a policy of Istio with targets that istio-targets.ts reads. */
export function isTargetingPolicy(value: unknown, names: MeshNames): boolean {
  const { apiVersion, kind } = fieldsOf(value)
  if (!isIstio(names) || !TARGETING_KINDS.includes(textOf(kind) ?? "")) return false
  return textOf(apiVersion)?.startsWith(`${names.securityGroup}/`) === true && hasTargets(value)
}

/** The targets of a document of any kind. `targetRef` is the former spelling, which Istio still reads. */
export function targetsOf({ targetRef, targetRefs }: Fields): readonly Fields[] {
  const listed = listOf(targetRefs)
  return (listed.length > 0 ? listed : targetRef === undefined ? [] : [targetRef]).map(fieldsOf)
}

/**
 * The workloads that it selects: by namespace and labels, everywhere from the root namespace, and by targets only
 * gateways and waypoints.
 */
export function scopeOf(value: unknown): Scope {
  const { metadata, spec } = fieldsOf(value)
  const own = textOf(fieldsOf(metadata).namespace)
  const { selector, workloadSelector } = fieldsOf(spec)
  const wanted = Object.entries({
    ...fieldsOf(fieldsOf(selector).matchLabels),
    ...fieldsOf(fieldsOf(workloadSelector).labels),
  })
  const targets = targetsOf(fieldsOf(spec)).filter(({ kind }) => kind !== undefined)
  return ({ namespace, labels, gateway: proxy }, rootNamespace) => {
    const places = [namespace, rootNamespace, ...(proxy?.target === undefined ? [] : [proxy.target.namespace])]
    if (own !== undefined && !places.includes(own)) return false
    if (targets.length === 0) return wanted.every(([key, text]) => Object.hasOwn(labels, key) && labels[key] === text)
    const gateway = Object.hasOwn(labels, GATEWAY_NAME) ? labels[GATEWAY_NAME] : undefined
    return gateway !== undefined && targets.some(({ kind, name }) => kind !== "Gateway" || name === gateway)
  }
}

/** Istio's settings for outgoing calls and for gateways do not change how a sidecar handles incoming requests. */
function concernsInbound(value: unknown): boolean {
  const { kind, spec } = fieldsOf(value)
  const { ingress, configPatches } = fieldsOf(spec)
  if (kind === "Sidecar") return listOf(ingress).length > 0
  const patches = listOf(configPatches).map(one => textOf(fieldsOf(fieldsOf(one).match).context) ?? "ANY")
  return kind !== "EnvoyFilter" || patches.length === 0 || !patches.every(one => OUTBOUND.includes(one))
}

/**
 * Before rules see a request, Envoy adds a request id and the caller's certificate, removes connection headers, and
 * reserves its own headers.
 */
const OWN_HEADER =
  /^request\.headers\[(connection|expect|http2-settings|keep-alive|proxy-connection|te|transfer-encoding|upgrade|x-forwarded-client-cert|x-request-id|x-envoy-.*)\]$/i

const OUTBOUND: readonly string[] = ["SIDECAR_OUTBOUND", "GATEWAY"]

const conditionKeys = (rule: unknown): readonly string[] =>
  listOf(fieldsOf(rule).when).flatMap(one => textOf(fieldsOf(one).key) ?? [])

const readsHeaders = (rule: unknown): boolean => conditionKeys(rule).some(key => key.startsWith("request.headers["))

/** Merlon's own fields. In a policy of Istio they would change our answer and not the mesh. */
function fieldThatIstioDrops(spec: Fields): string | undefined {
  const own = ["enforcement", "denyResponse"].find(name => spec[name] !== undefined)
  if (own !== undefined) return `spec.${own}`
  for (const [at, rule] of listOf(spec.jwtRules).entries()) {
    const ofRule = ["requireExpiration", "caBundle"].find(name => fieldsOf(rule)[name] !== undefined)
    if (ofRule !== undefined) return `spec.jwtRules[${at}].${ofRule}`
  }
  return undefined
}

/** Parses documents of any kind. A text that is not YAML has none, and is reported where its policies are read. */
export function objectsIn(text: string): readonly Fields[] {
  const read = readDocuments(text, ISTIO, { maxCharacters: MAX_CHARACTERS })
  return read.flatMap(({ value }) => (typeof value === "object" && value !== null ? [fieldsOf(value)] : []))
}
