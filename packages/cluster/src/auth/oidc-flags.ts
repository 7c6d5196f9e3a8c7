// SPDX-License-Identifier: Apache-2.0
// Command-line flags for an OIDC issuer, with the names, defaults and meanings of kube-apiserver's flags.

import { readFileSync } from "node:fs"
import { ClusterError } from "../errors.js"
import type { OidcOptions } from "./oidc.js"
import { ISSUER } from "./tokens.js"

/** Options for `parseArgs`. */
export const oidcFlags = {
  "oidc-issuer-url": { type: "string" },
  "oidc-client-id": { type: "string" },
  "oidc-username-claim": { type: "string" },
  "oidc-username-prefix": { type: "string" },
  "oidc-groups-claim": { type: "string" },
  "oidc-groups-prefix": { type: "string" },
  "oidc-required-claim": { type: "string", multiple: true },
  "oidc-signing-algs": { type: "string", multiple: true },
  "oidc-ca-file": { type: "string" },
} as const

export type OidcFlag = keyof typeof oidcFlags
export type OidcValues = {
  readonly [flag in OidcFlag]?:
    | ((typeof oidcFlags)[flag] extends { multiple: true } ? readonly string[] : string)
    | undefined
}

/** Algorithms with a shared secret are left out: every holder of the secret could sign for any user. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"]

/** Returns undefined if no issuer is configured. */
export function clusterOidcOptions(values: OidcValues): OidcOptions | undefined {
  const { "oidc-issuer-url": issuerUrl, "oidc-client-id": clientId } = values
  if (issuerUrl === undefined) {
    const flags = Object.keys(oidcFlags) as OidcFlag[] // the object's own keys
    const stray = flags.find(flag => (values[flag]?.length ?? 0) > 0)
    if (stray === undefined) return undefined
    throw invalid(`\`--${stray}\` needs an issuer: add --oidc-issuer-url https://issuer.example`)
  }
  checkIssuer(issuerUrl)
  if (clientId === undefined || clientId === "")
    throw invalid("`--oidc-issuer-url` needs a client: add --oidc-client-id ID")
  const usernameClaim = values["oidc-username-claim"] ?? "sub"
  const signingAlgorithms = orDefault(values["oidc-signing-algs"], "RS256")
  const unknown = signingAlgorithms.find(algorithm => !ALGORITHMS.includes(algorithm))
  if (unknown !== undefined) throw invalid(`\`--oidc-signing-algs ${unknown}\` is not one of ${ALGORITHMS.join(", ")}`)
  const groupsClaim = values["oidc-groups-claim"]
  return {
    ...{ issuerUrl, clientId, usernameClaim, signingAlgorithms },
    usernamePrefix: prefixOf(values["oidc-username-prefix"], usernameClaim, issuerUrl),
    ...(groupsClaim === undefined ? {} : { groupsClaim }),
    groupsPrefix: values["oidc-groups-prefix"] ?? "",
    requiredClaims: new Map((values["oidc-required-claim"] ?? []).map(claimAndValue)),
    ...(values["oidc-ca-file"] === undefined ? {} : { ca: pemIn(values["oidc-ca-file"]) }),
  }
}

function invalid(message: string, cause?: unknown): ClusterError {
  return new ClusterError("invalid-flag", message, { cause })
}

function checkIssuer(address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url?.protocol !== "https:" || url.search !== "" || url.hash !== "" || url.username !== "")
    throw invalid(`\`--oidc-issuer-url ${address}\` is not an issuer URL; write it as https://issuer.example`)
  // The cluster's own tokens would be checked by the OIDC authenticator instead.
  if (address === ISSUER) throw invalid(`\`--oidc-issuer-url ${address}\` is this cluster itself; use another issuer`)
}

/** Two issuers may have the same `sub`, so the issuer is the default prefix. An email is unique by itself. */
function prefixOf(prefix: string | undefined, usernameClaim: string, issuerUrl: string): string {
  if (prefix === "-") return ""
  return prefix ?? (usernameClaim === "email" ? "" : `${issuerUrl}#`)
}

function orDefault(values: readonly string[] | undefined, normal: string): readonly string[] {
  return values === undefined || values.length === 0 ? [normal] : values.flatMap(value => value.split(","))
}

function claimAndValue(text: string): readonly [string, string] {
  const at = text.indexOf("=")
  if (at < 1) throw invalid(`\`--oidc-required-claim ${text}\` is not a claim; write it as claim=value`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function pemIn(path: string): string {
  try {
    const text = readFileSync(path, "utf8")
    if (!text.includes("-----BEGIN CERTIFICATE-----")) throw new Error("it holds no certificate in PEM")
    return text
  } catch (error) {
    throw invalid(`\`--oidc-ca-file ${path}\` cannot be used, name a PEM file with certificates`, error)
  }
}
