// SPDX-License-Identifier: Apache-2.0
// The contents of a token and whether it would be accepted. The verdict comes from the proxies' evaluator, with a policy
// made for this query; error texts are those that callers get.

import type { MeshNames } from "@merlon/policy/mesh"
import { type RequestAuthentication, validate } from "@merlon/policy/resources"
import { authenticate, compileTokenRules, type KeySet, type TokenError, tokenErrorText } from "@merlon/policy/tokens"
import { usageError } from "../exit.js"

export interface Expectations {
  /** If undefined, the signature is not checked. */
  readonly keySet: KeySet | undefined
  /** Defaults to the token's own issuer. */
  readonly issuer?: string
  readonly audiences: readonly string[]
}

export type Verdict =
  | { readonly verdict: "valid" }
  | { readonly verdict: "unchecked" }
  | { readonly verdict: "rejected"; readonly error: TokenError; readonly reason: string; readonly status: 401 | 403 }

export interface Inspection {
  /** Undefined if it cannot be read. */
  readonly header: Fields | undefined
  readonly claims: Fields | undefined
  readonly outcome: Verdict
}

type Fields = { readonly [name: string]: unknown }

/** `now` in seconds. */
export function inspect(token: string, expected: Expectations, names: MeshNames, now: number): Inspection {
  const [header, claims] = token.split(".").slice(0, 2).map(decode)
  const program = compileTokenRules([policyFor(claims?.iss, expected, names)], () => expected.keySet)
  const headers = new Map([["authorization", [`Bearer ${token}`]]])
  const request = { method: "GET", scheme: "https", host: "localhost", target: "/", headers }
  return { header, claims, outcome: verdictOf(authenticate(program, request, now, undefined)) }
}

function verdictOf(authentication: ReturnType<typeof authenticate>): Verdict {
  if (authentication.outcome === "pass") return { verdict: "valid" }
  const { error, status } = authentication
  // The evaluator fetches keys before it checks times and audiences.
  if (error === "JwksFetchFail") return { verdict: "unchecked" }
  return { verdict: "rejected", error, reason: tokenErrorText(error), status }
}

/** An issuer that no policy can name, such as one with control characters, is checked by a policy without it. */
function policyFor(own: unknown, { issuer, audiences }: Expectations, names: MeshNames): RequestAuthentication {
  const asked = policy(issuer ?? (typeof own === "string" && own !== "" ? own : undefined), audiences, names)
  if (typeof asked !== "string") return asked
  const open = issuer === undefined ? policy(undefined, audiences, names) : asked
  if (typeof open !== "string") return open
  throw usageError(open)
}

/** The policy, or its error. Keys are looked up and not inline, so that any number of keys is handled alike. */
function policy(
  issuer: string | undefined,
  audiences: readonly string[],
  names: MeshNames,
): RequestAuthentication | string {
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
  const { document: valid, errors } = validate(document, names)
  if (valid?.kind === "RequestAuthentication") return valid
  return errors.map(({ message }) => message).join("; ")
}

function decode(part: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
