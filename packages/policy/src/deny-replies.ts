// SPDX-License-Identifier: Apache-2.0
// The response to a denied request: the policy's own `denyResponse`, or the standard one. It never depends on the request.

import type { Verdict } from "./authorization/decision.js"
import type { MeshConfig } from "./mesh/config.js"
import type { DenyResponse } from "./resources/deny-response.js"
import type { AuthorizationPolicy, Metadata, RequestAuthentication } from "./resources/document.js"
import { isShadow } from "./selection/shadow.js"

/** The response to the caller. Without a reply, the connection is closed. */
export interface Reply {
  readonly status: number
  /** In latin1. */
  readonly body: string
  /** `text/plain` if absent. */
  readonly contentType?: string
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string | undefined
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

const FORBIDDEN: Reply = { status: 403, body: "RBAC: access denied", challenge: undefined }

type Denied = Pick<Verdict, "stage" | "rule">

export class DenyReplies {
  readonly #ofToken: DenyResponse | undefined
  readonly #ofMiss: Reply
  /** By namespace and name of a DENY policy. */
  readonly #ofPolicy = new Map<string, Reply>()

  /** Both lists are sorted by age: if several policies decide together, the oldest with a response provides it. */
  constructor(
    tokenPolicies: readonly RequestAuthentication[],
    policies: readonly AuthorizationPolicy[],
    mesh: MeshConfig,
  ) {
    // A policy in shadow mode does not change the response.
    this.#ofToken = tokenPolicies.find(policy => policy.spec.denyResponse && !isShadow(policy, mesh))?.spec.denyResponse
    const enforced = policies.filter(policy => policy.spec.denyResponse && !isShadow(policy, mesh))
    const miss = enforced.find(({ spec: { action = "ALLOW" } }) => action === "ALLOW")
    this.#ofMiss = replyOf(miss?.spec.denyResponse, FORBIDDEN)
    for (const { metadata, spec } of enforced) {
      if (spec.action === "DENY") this.#ofPolicy.set(keyOf(metadata), replyOf(spec.denyResponse, FORBIDDEN))
    }
  }

  /** `standard`: the response to the error of the token. */
  ofToken(standard: Reply): Reply {
    const reply = replyOf(this.#ofToken, standard)
    // RFC 9110 section 15.5.2: the challenge belongs to a 401. Another status has another meaning.
    return reply.status === standard.status ? reply : { ...reply, challenge: undefined }
  }

  ofAuthorization({ stage, rule }: Denied): Reply {
    if (stage === "allow") return this.#ofMiss
    return (stage === "deny" && rule && this.#ofPolicy.get(keyOf(rule.policy))) || FORBIDDEN
  }
}

function replyOf(response: DenyResponse | undefined, standard: Reply): Reply {
  if (response === undefined) return standard
  const { status = standard.status, body = standard.body, headers = [] } = response
  const named = headers.map(({ name, value }) => [name.toLowerCase(), value] as const)
  const contentType = named.find(([name]) => name === "content-type")?.[1]
  return {
    status,
    body,
    ...(contentType !== undefined && { contentType }),
    challenge: standard.challenge,
    headers: named.filter(([name]) => name !== "content-type"),
  }
}

function keyOf({ namespace, name }: Pick<Metadata, "namespace" | "name">): string {
  return `${namespace}/${name}`
}
