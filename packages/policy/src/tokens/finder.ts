// SPDX-License-Identifier: Apache-2.0
// Finds every token of a request once for all rules. A slot is one location; rules with the same location share it. A
// spot is one header line, parameter or cookie: two rules may cut different texts from one spot, but it contains one
// credential, and the request is judged by spots.

import type { Dialect } from "../mesh/config.js"
import type { HeaderLines } from "../request/attributes.js"
import { readCookies } from "./cookies.js"
import { type RequestEdits, removalOf } from "./edits.js"
import { type HeaderLocation, type Location, tokenIn } from "./locations.js"
import { readParameters } from "./query.js"
import type { TokenReading } from "./reading.js"
import type { TokenRule } from "./rule.js"
import type { TokenError } from "./token-errors.js"
import type { TokenView } from "./view.js"

export interface TokenRequest {
  readonly method: string
  readonly scheme: string
  /** `:authority` or `Host`; absent if the request has neither. */
  readonly host: string | undefined
  /** Origin form, with the query. */
  readonly target: string
  readonly headers: HeaderLines
}

/** A spot of one request, and the first rule that accepted the token there. */
export interface Spot {
  readonly kind: Location["kind"]
  readonly name: string
  /** Only for headers: the precomputed removal. */
  readonly removal: RequestEdits | undefined
  by: TokenRule | undefined
  view: TokenView | undefined
}

export interface Found {
  readonly spot: Spot
  readonly text: string
  /** The result of parsing the text; set on first use. */
  reading: TokenReading | TokenError | undefined
  /** Whether the reading came from memory or has been stored there. */
  remembered: boolean
}

export interface Finds {
  readonly spots: readonly Spot[]
  readonly bySlot: readonly (readonly Found[] | undefined)[]
}

export interface Finder {
  slotOf(location: Location): number
  find(request: TokenRequest): Finds
}

// No client sends more. Fail closed: further tokens are rejected without parsing, since each may cost a signature
// check.
const MAX_TOKENS = 16

const NOTHING: Finds = Object.freeze({ spots: Object.freeze([]), bySlot: Object.freeze([]) })

interface HeaderGroup {
  readonly name: string
  readonly removal: RequestEdits
  readonly members: { readonly location: HeaderLocation; readonly slot: number }[]
}

export function finderOf(locations: readonly Location[], dialect?: Dialect): Finder {
  const slots = new Map<string, number>()
  const headers = new Map<string, HeaderGroup>()
  const params = new Map<string, number>()
  const cookies = new Map<string, number>()
  for (const location of locations) {
    const key = keyOf(location)
    if (slots.has(key)) continue
    const slot = slots.size
    slots.set(key, slot)
    const { name } = location
    if (location.kind === "header") {
      const group = headers.get(name) ?? { name, removal: removalOf(name), members: [] }
      group.members.push({ location, slot })
      headers.set(name, group)
    } else {
      ;(location.kind === "param" ? params : cookies).set(name, slot)
    }
  }
  const groups = [...headers.values()]

  return {
    slotOf: location => slots.get(keyOf(location)) ?? -1,
    find({ target, headers: lines }) {
      let finds: Collection | undefined
      for (const group of groups) {
        for (const line of lines.get(group.name) ?? []) {
          let spot: Spot | undefined
          for (const { location, slot } of group.members) {
            const text = tokenIn(line, location, dialect)
            if (text === undefined) continue
            finds ??= new Collection()
            spot ??= finds.spot("header", group.name, group.removal)
            finds.add(slot, spot, text)
          }
        }
      }
      if (params.size > 0 && target.includes("?")) {
        readParameters(target, params, (name, slot, text) => {
          finds ??= new Collection()
          finds.add(slot, finds.spot("param", name, undefined), text)
        })
      }
      const cookieLines = cookies.size > 0 ? lines.get("cookie") : undefined
      if (cookieLines !== undefined) {
        readCookies(cookieLines, cookies, (name, slot, text) => {
          finds ??= new Collection()
          finds.add(slot, finds.spot("cookie", name, undefined), text)
        })
      }
      return finds ?? NOTHING
    },
  }
}

class Collection implements Finds {
  readonly spots: Spot[] = []
  readonly bySlot: (Found[] | undefined)[] = []
  #count = 0

  spot(kind: Location["kind"], name: string, removal: RequestEdits | undefined): Spot {
    const spot: Spot = { kind, name, removal, by: undefined, view: undefined }
    this.spots.push(spot)
    return spot
  }

  add(slot: number, spot: Spot, text: string): void {
    const reading = ++this.#count > MAX_TOKENS ? "JwtBadFormat" : undefined
    const found: Found = { spot, text, reading, remembered: false }
    const before = this.bySlot[slot]
    if (before === undefined) this.bySlot[slot] = [found]
    else before.push(found)
  }
}

function keyOf(location: Location): string {
  return JSON.stringify([location.kind, location.name, location.kind === "header" ? location.prefix : ""])
}
