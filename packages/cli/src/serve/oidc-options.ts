// SPDX-License-Identifier: Apache-2.0
// The console's OIDC flags. Fails at startup: an incomplete set would otherwise be noticed only by the first user who
// cannot sign in.

import type { OidcOptions } from "@merlon/console"
import { messageOf, readUtf8File } from "@merlon/xds/runtime"

export interface OidcFlags {
  readonly consoleOidcIssuer?: string
  readonly consoleOidcClientId?: string
  readonly consoleOidcClientSecretFile?: string
  readonly consoleOidcCaFile?: string
  readonly consoleOidcScope: readonly string[]
}

/** Undefined if OIDC is not configured. */
export function oidcOptions(flags: OidcFlags): OidcOptions | undefined {
  const { consoleOidcIssuer: issuer, consoleOidcClientId: clientId, consoleOidcClientSecretFile: file } = flags
  const { consoleOidcCaFile: caFile } = flags
  if (issuer === undefined) {
    if (clientId === undefined && file === undefined && caFile === undefined) return undefined
    throw new Error("`--console-oidc-client-id` needs `--console-oidc-issuer`: say at which issuer")
  }
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new Error(`\`${issuer}\` is no issuer for \`--console-oidc-issuer\`: write it as https://issuer.example`)
  }
  if (clientId === undefined) throw new Error("`--console-oidc-issuer` needs `--console-oidc-client-id`")
  const secret = file === undefined ? {} : { clientSecret: textIn(file, "--console-oidc-client-secret-file") }
  const ca = caFile === undefined ? {} : { ca: textIn(caFile, "--console-oidc-ca-file") }
  return { issuer, clientId, scopes: flags.consoleOidcScope, ...secret, ...ca }
}

function textIn(file: string, flag: string): string {
  try {
    const text = readUtf8File(file).trim()
    if (text === "") throw new Error("it is empty")
    return text
  } catch (error) {
    throw new Error(`cannot use \`${file}\` as \`${flag}\`: ${messageOf(error)}`)
  }
}
