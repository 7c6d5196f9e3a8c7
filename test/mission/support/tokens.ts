// SPDX-License-Identifier: Apache-2.0
// Tokens as `merlonctl jwt` makes them, and the keys of the samples that a published key set verifies.

import { type Mission, succeeded } from "./mission.js"

export const SAMPLE_KEY = "samples/keys/private.jwk.json"

export interface Wanted {
  readonly issuer: string
  readonly subject: string
  readonly groups?: readonly string[]
  readonly key?: string
  readonly expires?: string
}

/** As an argument of curl. */
export async function bearer(mission: Mission, wanted: Wanted): Promise<readonly [string, string]> {
  const { issuer, subject, groups, key = SAMPLE_KEY, expires = "1h" } = wanted
  const claim = groups === undefined ? [] : ["--claim", `groups=${JSON.stringify(groups)}`]
  const args = ["jwt", "mint", "--key", key, "--iss", issuer, "--sub", subject, `--exp=${expires}`, ...claim]
  const { out } = succeeded(await mission.merlonctl(args))
  return ["-H", `Authorization: Bearer ${out.trim()}`]
}
