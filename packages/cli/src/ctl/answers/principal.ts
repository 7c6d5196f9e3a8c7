// SPDX-License-Identifier: Apache-2.0
// An identity as users type it.

import { parseSpiffeId } from "@merlon/policy/request"
import { usageError } from "../exit.js"

/**
 * Accepts `ns/NAMESPACE/sa/ACCOUNT`, `NAMESPACE/ACCOUNT`, or a full principal with its trust domain. Returns the
 * principal as in rules.
 */
export function principalOf(word: string, trustDomain: string): string {
  const bare = word.replace(/^spiffe:\/\//, "")
  const parts = bare.split("/")
  const principal =
    parts.length === 2
      ? `${trustDomain}/ns/${parts[0]}/sa/${parts[1]}`
      : bare.startsWith("ns/")
        ? `${trustDomain}/${bare}`
        : bare
  if (parseSpiffeId(`spiffe://${principal}`) === undefined) {
    throw usageError(`\`${word}\` is no identity; write it as ns/NAMESPACE/sa/ACCOUNT`)
  }
  return principal
}
