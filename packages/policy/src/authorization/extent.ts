// SPDX-License-Identifier: Apache-2.0
// The set of values that one value of a policy matches, parsed once and compared with others of its attribute many
// times. `covers` and `isApartFrom` may miss a case but never return true wrongly.

import { type Cidr, cidrCovers } from "../request/ip.js"
import type { Pattern } from "./pattern.js"
import { patternCovers, patternsApart } from "./pattern-covers.js"
import { principalCovers, principalsApart } from "./request-principal.js"

export interface Extent {
  /** Whether this certainly matches everything that `narrow` matches. */
  covers(narrow: Extent): boolean
  /** Whether this and `other` certainly have no match in common. */
  isApartFrom(other: Extent): boolean
}

export class PatternExtent implements Extent {
  constructor(readonly pattern: Pattern) {}

  covers(narrow: Extent): boolean {
    return narrow instanceof PatternExtent && patternCovers(this.pattern, narrow.pattern)
  }

  isApartFrom(other: Extent): boolean {
    return other instanceof PatternExtent && patternsApart(this.pattern, other.pattern)
  }
}

export class AddressExtent implements Extent {
  constructor(readonly block: Cidr) {}

  covers(narrow: Extent): boolean {
    return narrow instanceof AddressExtent && cidrCovers(this.block, narrow.block)
  }

  isApartFrom(other: Extent): boolean {
    if (!(other instanceof AddressExtent)) return false
    return !cidrCovers(this.block, other.block) && !cidrCovers(other.block, this.block)
  }
}

export class PrincipalExtent implements Extent {
  constructor(readonly value: string) {}

  covers(narrow: Extent): boolean {
    return narrow instanceof PrincipalExtent && principalCovers(this.value, narrow.value)
  }

  isApartFrom(other: Extent): boolean {
    return other instanceof PrincipalExtent && principalsApart(this.value, other.value)
  }
}
