// SPDX-License-Identifier: Apache-2.0
// What a token says and whether it would be let in. The verdict is that of the engine that the proxies run, from a policy
// made for this one question; the texts of a refusal are those that callers get.

import {
  authenticate,
  compileTokenRules,
  faultText,
  type KeySet,
  type MeshNames,
  type RequestAuthentication,
  type TokenFault,
  validate,
} from "@merlon/policy"

export interface Expectations {
  /** Undefined: the signature is not checked. */
  readonly keySet: KeySet | undefined
  /** The token's own where absent. */
  readonly issuer?: string
  readonly audiences: readonly string[]
}

export type Verdict =
  | { readonly verdict: "valid" }
  | { readonly verdict: "unchecked" }
  | { readonly verdict: "refused"; readonly fault: TokenFault; readonly reason: string; readonly status: 401 | 403 }

export interface Inspection {
  /** Undefined where it cannot be read. */
  readonly header: Fields | undefined
  readonly claims: Fields | undefined
  readonly outcome: Verdict
}

type Fields = { readonly [name: string]: unknown }

/** `now` in seconds. */
export function inspect(token: string, expected: Expectations, names: MeshNames, now: number): Inspection {
  const [header, claims] = token.split(".").slice(0, 2).map(decode)
  const own = typeof claims?.iss === "string" && claims.iss !== "" ? claims.iss : undefined
  const issuer = expected.issuer ?? own
  const program = compileTokenRules([policy(issuer, expected.audiences, names)], () => expected.keySet)
  const headers = new Map([["authorization", [`Bearer ${token}`]]])
  const request = { method: "GET", scheme: "https", host: "localhost", target: "/", headers }
  return { header, claims, outcome: verdictOf(authenticate(program, request, now, undefined)) }
}

function verdictOf(authentication: ReturnType<typeof authenticate>): Verdict {
  if (authentication.outcome === "pass") return { verdict: "valid" }
  const { fault, status } = authentication
  // No keys were given, so everything that can be checked without them is in order.
  if (fault === "JwksFetchFail") return { verdict: "unchecked" }
  return { verdict: "refused", fault, reason: faultText(fault), status }
}

/** The keys are looked up and not written inline, so that any number of them is judged alike. */
function policy(issuer: string | undefined, audiences: readonly string[], names: MeshNames): RequestAuthentication {
  const rule = {
    ...(issuer === undefined ? {} : { issuer }),
    jwksUri: "https://keys.invalid/given-by-hand",
    ...(audiences.length === 0 ? {} : { audiences }),
    presence: "REQUIRED",
  }
  const document = {
    apiVersion: `${names.securityGroup}/${names.version}`,
    kind: "RequestAuthentication",
    metadata: { name: "inspect", namespace: "default" },
    spec: { jwtRules: [rule] },
  }
  const { document: valid, faults } = validate(document, names)
  if (valid?.kind === "RequestAuthentication") return valid
  throw new Error(`no policy can ask for this: ${faults.map(({ message }) => message).join("; ")}`)
}

function decode(part: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
