// SPDX-License-Identifier: Apache-2.0
// The console, as part of a control plane or standalone: who can sign in and how, and whose permissions API requests
// use.

import type { Console, OidcOptions } from "@merlon/console"
import type { OneTimeCodes } from "@merlon/console/one-time-codes"
import { type Connection, passingApi, withToken } from "@merlon/control/kubernetes"
import type { MeshNames } from "@merlon/policy/mesh"
import { VERSION } from "../version.js"

export interface ConsoleOptions {
  readonly host: string
  readonly port: number
  /** Host names of the console besides this machine's own. */
  readonly hosts: readonly string[]
  readonly names: MeshNames
  /** The connection to the API, which gets the token of the signed-in user. */
  readonly connection: Connection
  /** Sign-in with the code of a link. Such a user has the permissions of these credentials. */
  readonly owner?: { readonly codes: OneTimeCodes; readonly connection: Connection } | undefined
  /** Sign-in at an OIDC issuer whose ID tokens the API accepts. */
  readonly oidc?: OidcOptions | undefined
  readonly onError: (error: unknown) => void
}

const AGENT = "merlon-console"

/** Undefined if its page was not built. Throws if it cannot listen. */
export async function serveConsole(options: ConsoleOptions): Promise<Console | undefined> {
  const { names, connection, owner, oidc, ...where } = options
  // Loaded on demand: the page is larger than the rest of a control plane.
  const { builtPage, startConsole } = await import("@merlon/console")
  const assets = builtPage()
  if (assets === undefined) return undefined
  const { mesh, domain, rootNamespace, securityGroup, networkingGroup } = names
  return startConsole({
    ...where,
    names: { mesh, domain, rootNamespace, securityGroup, networkingGroup, answersGroup: `answers.${domain}` },
    version: VERSION,
    assets,
    signIn: {
      withToken: token => passingApi(withToken(connection, token), AGENT),
      ...(oidc && { oidc }),
      ...(owner && { withCode: { codes: owner.codes, api: () => passingApi(owner.connection, AGENT) } }),
    },
  })
}
