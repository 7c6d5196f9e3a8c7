// SPDX-License-Identifier: Apache-2.0
// The console, beside a control plane or alone: who can sign in and how, and whose permissions API requests use.

import type { Console, OidcOptions } from "@merlon/console"
import type { OneTimeCodes } from "@merlon/console/one-time-codes"
import { type Connection, passingApi, withToken } from "@merlon/control/kubernetes"
import type { MeshNames } from "@merlon/policy/mesh"
import { VERSION } from "../version.js"

export interface ConsoleOptions {
  readonly host: string
  readonly port: number
  /** Names besides this machine's under which people reach it. */
  readonly hosts: readonly string[]
  readonly names: MeshNames
  /** Where the API is; the token of a signed-in user is used there. */
  readonly connection: Connection
  /** For a user with the code of a link: the permissions of these credentials. */
  readonly owner?: { readonly codes: OneTimeCodes; readonly connection: Connection } | undefined
  /** Where people sign in at an issuer whose ID tokens the API takes. */
  readonly oidc?: OidcOptions | undefined
  readonly onError: (error: unknown) => void
}

const AGENT = "merlon-console"

/** Undefined where its page was not built. Throws where it cannot listen. */
export async function serveConsole(options: ConsoleOptions): Promise<Console | undefined> {
  const { names, connection, owner, oidc, ...where } = options
  // Loaded where it is wanted: the page is larger than the rest of a control plane.
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
