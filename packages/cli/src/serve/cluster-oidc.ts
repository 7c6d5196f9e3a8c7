// SPDX-License-Identifier: Apache-2.0
// kube-apiserver's OpenID Connect flags, for every command that starts an embedded cluster.

import type { OidcFlag, OidcOptions, OidcValues } from "@merlon/cluster"
import { type Command, Option } from "commander"
import { several } from "../arguments.js"

const FLAGS: { readonly [flag in OidcFlag]: string } = {
  "oidc-issuer-url": "issuer whose ID tokens the embedded cluster accepts; https",
  "oidc-client-id": "client id that tokens must have as audience",
  "oidc-username-claim": "claim that names the user (default: sub)",
  "oidc-username-prefix": "prefix of user names, - for none (default: the issuer and #; none for email)",
  "oidc-groups-claim": "claim that names the user's groups (default: none)",
  "oidc-groups-prefix": "prefix of groups (default: none)",
  "oidc-required-claim": "claim=value that a token must have; repeatable",
  "oidc-signing-algs": "accepted signature algorithm; repeatable (default: RS256)",
  "oidc-ca-file": "CA of the issuer's server, PEM (default: the public ones)",
}
const SEVERAL: ReadonlySet<string> = new Set<OidcFlag>(["oidc-required-claim", "oidc-signing-algs"])

export function addClusterOidc(command: Command): Command {
  for (const [flag, description] of Object.entries(FLAGS)) {
    const env = `MERLON_API_${flag.replaceAll("-", "_").toUpperCase()}`
    const option = new Option(`--${flag} <value>`, description).env(env)
    command.addOption(SEVERAL.has(flag) ? option.argParser(several).default([]) : option)
  }
  return command
}

/** The values that commander parsed, by flag. */
function clusterOidcValues(flags: object): OidcValues {
  const read = new Map(Object.entries(flags))
  const values = Object.keys(FLAGS).map(flag => [
    flag,
    read.get(flag.replace(/-(.)/g, (_, to: string) => to.toUpperCase())),
  ])
  // Each value comes from its option's parser.
  return Object.fromEntries(values)
}

/** Undefined if OIDC is not configured. The package is loaded on demand, as in `bringCluster`. */
export async function clusterOidc(flags: object): Promise<{ readonly oidc?: OidcOptions }> {
  const { clusterOidcOptions } = await import("@merlon/cluster")
  const oidc = clusterOidcOptions(clusterOidcValues(flags))
  return oidc === undefined ? {} : { oidc }
}

/** Rejects these flags for an external cluster, which has its own configuration: they would have no effect. */
export function rejectClusterOidc(flags: object): void {
  const stray = Object.entries(clusterOidcValues(flags)).find(([, value]) => (value?.length ?? 0) > 0)
  if (stray !== undefined)
    throw new Error(
      `\`--${stray[0]}\` is for a cluster of our own (\`--embedded\`); tell the other API server of the issuer itself`,
    )
}
