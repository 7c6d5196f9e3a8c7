// SPDX-License-Identifier: Apache-2.0
// The fallback for a stored policy that cannot be read and has no known readable version, as after a restart or
// downgrade of the control plane: the strictest policy that it could have meant, for the same selector. Fail closed:
// without it, requests that the policy denies would be allowed.

import { GATEWAY_GROUP, GATEWAY_TARGET_KINDS, type MeshNames } from "@merlon/policy/mesh"
import { validate } from "@merlon/policy/resources"
import { isShadow } from "@merlon/policy/selection"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { listOf, objectOf } from "../registry/foreign.js"
import type { SecurityPolicy } from "./stored-policy.js"

/** Returns undefined if the policy could not change any outcome, whatever it means. */
export function fallbackPolicy(
  kind: SecurityPolicy["kind"],
  object: KubernetesObject,
  names: MeshNames,
): SecurityPolicy | undefined {
  const spec = objectOf(object.spec)
  const { name, namespace = "default", uid, generation, creationTimestamp } = object.metadata
  const closed = isShadow({ kind, metadata: object.metadata, spec }, { names }) ? undefined : CLOSED[kind](spec)
  if (closed === undefined) return undefined
  const fallback = {
    apiVersion: `${names.securityGroup}/${names.version}`,
    kind,
    metadata: { name, namespace, uid, generation, creationTimestamp },
    spec: { ...scopeOf(spec), ...closed },
  }
  const { document } = validate(JSON.parse(JSON.stringify(fallback)), names)
  return document?.kind === kind ? document : undefined
}

/** Its x is the SHA-256 of "merlon: nobody has this key 0", so the private half cannot be known. */
export const UNUSABLE_KEY_SET = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      x: "IUcAfZ8fhEU6Cqxw4dBMtJlgxP4r9hwaZIuJ5q45fiU",
      y: "vHpiTtolEBD7TyPkO0CD5iXux3projdaO5YXvRTMN6w",
    },
  ],
})

/** A policy with more targets is invalid, and so would be the fallback with them. */
const MAX_TARGETS = 16

type Closed = (spec: { readonly [field: string]: unknown }) => object | undefined

const CLOSED: { readonly [K in SecurityPolicy["kind"]]: Closed } = {
  AuthorizationPolicy: ({ action = "ALLOW" }) => {
    if (action === "AUDIT") return undefined
    // An ALLOW policy without rules allows nothing, and other policies still allow what they match.
    return action === "ALLOW" ? { action } : { action: "DENY", rules: [{}] }
  },
  PeerAuthentication: () => ({ mtls: { mode: "STRICT" } }),
  // No token verifies. Requests without a token pass, unless a rule requires one.
  RequestAuthentication: ({ jwtRules }) => {
    const demanded = listOf(jwtRules).some(rule => objectOf(rule).presence === "REQUIRED")
    const presence = demanded ? { presence: "REQUIRED" } : {}
    return { jwtRules: [{ issuer: "unreadable", jwks: UNUSABLE_KEY_SET, ...presence }] }
  },
}

/** If the selection is unreadable, the fallback selects everything in scope. */
function scopeOf({ selector, targetRefs }: { readonly [field: string]: unknown }): object {
  if (targetRefs !== undefined) return selector === undefined ? targetsOf(targetRefs) : {}
  const { matchLabels, ...others } = objectOf(selector)
  const labels = Object.entries(objectOf(matchLabels))
  if (labels.length === 0 || Object.keys(others).length > 0) return {}
  return labels.every(([, label]) => typeof label === "string") ? { selector: { matchLabels } } : {}
}

function targetsOf(value: unknown): object {
  const targetRefs = listOf(value).map(objectOf)
  const readable = targetRefs.every(({ kind, name, group = "", ...others }) => {
    const isService = kind === "Service" && (group === "" || group === "core")
    const isOfGateway = group === GATEWAY_GROUP && GATEWAY_TARGET_KINDS.some(known => known === kind)
    return (isService || isOfGateway) && typeof name === "string" && name !== "" && Object.keys(others).length === 0
  })
  return readable && targetRefs.length > 0 && targetRefs.length <= MAX_TARGETS ? { targetRefs } : {}
}
