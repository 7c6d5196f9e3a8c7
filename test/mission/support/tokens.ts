// SPDX-License-Identifier: Apache-2.0
// Tokens made by `merlonctl jwt`, with the samples' keys that a published key set verifies.

import { type Mission, succeeded } from "./mission.js"

export const SAMPLE_KEY = "samples/keys/private.jwk.json"

export interface Wanted {
  readonly issuer: string
  readonly subject: string
  readonly groups?: readonly string[]
  readonly key?: string
  readonly expires?: string
}

/** Tokens by their parameters: a token can be reused, and creating one takes a process. */
const minted = new Map<string, Promise<string>>()

/** As an argument of curl. */
export async function bearer(mission: Mission, wanted: Wanted): Promise<readonly [string, string]> {
  const { issuer, subject, groups, key = SAMPLE_KEY, expires = "1h" } = wanted
  const claim = groups === undefined ? [] : ["--claim", `groups=${JSON.stringify(groups)}`]
  const args = ["jwt", "mint", "--key", key, "--iss", issuer, "--sub", subject, `--exp=${expires}`, ...claim]
  const asked = args.join(" ")
  const token = minted.get(asked) ?? mission.merlonctl(args).then(ran => succeeded(ran).out.trim())
  minted.set(asked, token)
  return ["-H", `Authorization: Bearer ${await token}`]
}
