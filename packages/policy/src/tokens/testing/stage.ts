// SPDX-License-Identifier: Apache-2.0
// Sets up the token stage for a test in one line: policies from bare rules, requests from bare headers.

import type { RequestAuthentication } from "../../resources/document.js"
import type { JwtRule, RequestAuthenticationSpec } from "../../resources/request-authentication/definition.js"
import { type Authentication, authenticate } from "../authenticate.js"
import type { TokenRequest } from "../finder.js"
import { type KeySet, parseKeySet } from "../key-set.js"
import type { TokenMemory } from "../memory.js"
import { compileTokenRules, type TokenProgram } from "../program.js"
import { NOW } from "./issuer.js"

export function policy(
  name: string,
  jwtRules: readonly JwtRule[],
  spec: Partial<RequestAuthenticationSpec> = {},
  creationTimestamp = "2026-01-01T00:00:00Z",
): RequestAuthentication {
  return {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "RequestAuthentication",
    metadata: { name, namespace: "foo", creationTimestamp },
    spec: { ...spec, jwtRules },
  }
}

export function program(...rules: readonly JwtRule[]): TokenProgram {
  return compileTokenRules([policy("p", rules)], () => undefined)
}

export function keySet(text: string): KeySet {
  const result = parseKeySet(text)
  if (!result.ok) throw new Error(result.error.message)
  return result.keySet
}

export interface RequestParts {
  readonly method?: string
  readonly target?: string
  readonly headers?: { readonly [name: string]: string | readonly string[] }
}

export function request({ method = "GET", target = "/get", headers = {} }: RequestParts = {}): TokenRequest {
  const lines = Object.entries(headers).map(([name, value]): [string, readonly string[]] => [
    name.toLowerCase(),
    typeof value === "string" ? [value] : value,
  ])
  return { method, scheme: "http", host: "httpbin.foo:8000", target, headers: new Map(lines) }
}

export function bearer(token: string): TokenRequest {
  return request({ headers: { authorization: `Bearer ${token}` } })
}

export function run(
  compiled: TokenProgram,
  parts: RequestParts,
  { now = NOW, memory }: { readonly now?: number; readonly memory?: TokenMemory | undefined } = {},
): Authentication {
  return authenticate(compiled, request(parts), now, memory)
}

/** "pass", "pass as SUBJECT", or the error. */
export function verdict(result: Authentication): string {
  if (result.outcome === "reject") return result.error
  return result.token === undefined ? "pass" : `pass as ${result.token.subject}`
}
