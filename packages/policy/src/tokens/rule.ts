// SPDX-License-Identifier: Apache-2.0
// One compiled rule of a RequestAuthentication, with everything that evaluation needs already resolved.

import type { TokenConditions } from "./conditions.js"
import type { KeySet } from "./key-set.js"
import type { ViewProfile } from "./view.js"

/** The rule that a decision comes from. */
export interface TokenRuleRef {
  readonly policy: { readonly namespace: string; readonly name: string }
  /** Position in the policy's `jwtRules`. */
  readonly rule: number
}

export interface TokenRule extends TokenConditions {
  readonly ref: TokenRuleRef
  /** Position in the program. */
  readonly order: number
  /**
   * The keys, or why there are none. Without keys every token of the rule is rejected; requests without a token still
   * pass.
   */
  readonly keys: KeySet | "JwksFetchFail" | "JwksNoValidKeys"
  /** Undefined if the keys are in the policy itself: fetching them again is pointless. */
  readonly keySetId: string | undefined
  /** Indices into the slots of the finder, in collection order. */
  readonly slots: readonly number[]
  readonly forward: boolean
  readonly required: boolean
  readonly profile: ViewProfile
}
