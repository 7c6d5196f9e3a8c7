// SPDX-License-Identifier: Apache-2.0
// Exchanges a user's credential for a session with that user's permissions. The credential is a cluster token, which
// the API reviews, or a one-time code from a process that already holds credentials.

import type { ApiExchange } from "./exchange.js"
import { readJson } from "./exchange.js"
import type { OidcOptions } from "./oidc-issuer.js"
import type { OneTimeCodes } from "./one-time-codes.js"

export interface SignIn {
  /** Sign-in at an issuer whose ID tokens the API accepts. Requires `withToken`. */
  readonly oidc?: OidcOptions
  /** The API with this token's permissions. Absent if no tokens are accepted. */
  readonly withToken?: (token: string) => ApiExchange
  /** The API with the permissions of this program's own credentials, for users with a code. */
  readonly withCode?: { readonly codes: OneTimeCodes; readonly api: () => ApiExchange }
}

export interface SignedIn {
  readonly user: string
  readonly groups: readonly string[]
  readonly api: ApiExchange
  /** When the credential expires, if it says so, in milliseconds since the epoch. */
  readonly until?: number
}

export class SignInError extends Error {
  override readonly name = "SignInError"

  constructor(
    readonly status: 400 | 401 | 502,
    message: string,
  ) {
    super(message)
  }
}

const MAX_ANSWER = 1 << 20
const TIMEOUT_MS = 15_000

export async function signIn(how: SignIn, shown: unknown): Promise<SignedIn> {
  return enter(apiFor(how, shown), expiryIn(shown))
}

/** Signs in the user that the API reports. */
export async function enter(api: ApiExchange, until?: number): Promise<SignedIn> {
  try {
    return { ...(await whoAmI(api)), api, ...(until === undefined ? {} : { until }) }
  } catch (error) {
    await api.close()
    throw error
  }
}

function apiFor({ withToken, withCode }: SignIn, shown: unknown): ApiExchange {
  const { token, code } = typeof shown === "object" && shown !== null ? (shown as Record<string, unknown>) : {}
  if (typeof code === "string" && withCode !== undefined) {
    if (withCode.codes.take(code)) return withCode.api()
    throw new SignInError(401, "this link was used or is too old; ask for a new one with `merlonctl dashboard`")
  }
  if (typeof token === "string" && withToken !== undefined) {
    // Only characters that are safe in a header, so that a token cannot add a second header.
    if (/^[\w.~+/=-]{1,16384}$/.test(token)) return withToken(token)
    throw new SignInError(401, "this is no token; get one with `kubectl create token NAME`")
  }
  throw new SignInError(400, "send `token` or `code`")
}

async function whoAmI(api: ApiExchange): Promise<{ readonly user: string; readonly groups: readonly string[] }> {
  const body = Buffer.from(
    JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} }),
  )
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
  const json = "application/json"
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const answer = await api.send({ method: "POST", path, accept: json, contentType: json, body }, signal).catch(() => {
    throw new SignInError(502, "the API does not answer; try again when it does")
  })
  if (answer.status === 401) {
    answer.body.destroy()
    throw new SignInError(401, "the API does not accept this token; it may have ended")
  }
  const review = await readJson(answer, MAX_ANSWER).catch(() => undefined)
  const { username, groups } = userInfo(review)
  if (answer.status !== 201 || typeof username !== "string") {
    throw new SignInError(502, `the API answered ${answer.status} when asked who this is`)
  }
  return { user: username, groups: Array.isArray(groups) ? groups.filter(group => typeof group === "string") : [] }
}

function userInfo(review: unknown): { readonly username?: unknown; readonly groups?: unknown } {
  const { status } = (review ?? {}) as { readonly status?: { readonly userInfo?: object } } // JSON, looked at field by field
  return status?.userInfo ?? {}
}

/**
 * The expiry in a token's claims. It needs no verification here: the API has accepted the token, and rejects it once it
 * expires.
 */
function expiryIn(shown: unknown): number | undefined {
  const { token } = (shown ?? {}) as { readonly token?: unknown }
  if (typeof token !== "string") return undefined
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"))
    return typeof exp === "number" && Number.isFinite(exp) ? exp * 1_000 : undefined
  } catch {
    return undefined
  }
}
