// SPDX-License-Identifier: Apache-2.0
// The kinds of requests. Within one kind, attributes are independent of each other. The frame fixes what is correlated
// (no identity on plaintext, no claims without a token, no path on TCP) before the search begins.

import type { Workload } from "../selection/workload.js"
import type { Location } from "../tokens/locations.js"
import { locationId, type ProofTokenRule } from "./token-rules.js"

export interface Frame {
  /** Whether the peer proved its identity with mTLS. */
  readonly identity: boolean
  readonly protocol: "http" | "tcp"
  /**
   * The location of the token, `none`, or `preflight`: the token of a CORS preflight is not read. There may be a second
   * token.
   */
  readonly token: "none" | "preflight" | { readonly at: string; readonly second?: string }
}

/**
 * Without token rules no token is read, and a preflight is an ordinary request. If all rules treat some locations
 * alike, one of them is enough, unless a rule reads the header that contains the token: `isRead`.
 */
export function framesOf(rules: readonly ProofTokenRule[], isRead: (location: Location) => boolean): readonly Frame[] {
  const places = placesOf(rules, isRead)
  const tokens: readonly Frame["token"][] = [
    "none",
    ...places.map(at => ({ at })),
    ...(places.length > 0 ? (["preflight"] as const) : []),
  ]
  const kinds: readonly Omit<Frame, "identity">[] = [
    ...tokens.map(token => ({ protocol: "http", token }) as const),
    { protocol: "tcp", token: "none" },
  ]
  return kinds.flatMap(kind => [
    { ...kind, identity: true },
    { ...kind, identity: false },
  ])
}

/** The frames that are possible at the workload: the proxy of an Istio Gateway has callers of one kind only. */
export function framesAt<T extends Pick<Frame, "identity">>(frames: readonly T[], { gateway }: Workload): readonly T[] {
  return gateway === undefined ? frames : frames.filter(({ identity }) => identity === gateway.isWaypoint)
}

function placesOf(rules: readonly ProofTokenRule[], isRead: (location: Location) => boolean): readonly string[] {
  const locations = new Map(rules.flatMap(rule => rule.locations.map(one => [locationId(one), one] as const)))
  const byReaders = new Map<string, string>()
  for (const [id, location] of locations) {
    const readers = rules.flatMap((rule, index) => (readsLocation(rule, id) ? [index] : [])).join()
    const alike = isRead(location) ? id : readers
    if (!byReaders.has(alike)) byReaders.set(alike, id)
  }
  return [...byReaders.values()]
}

export function readsLocation({ locations }: ProofTokenRule, place: string): boolean {
  return locations.some(location => locationId(location) === place)
}

/** The frame as this side sees it: if none of its rules looks at the token's location, there is no token. */
export function seenBy(frame: Frame, rules: readonly ProofTokenRule[]): Frame {
  const { token } = frame
  if (typeof token === "string" || rules.some(rule => readsLocation(rule, token.at))) return frame
  return { ...frame, token: "none" }
}

export const hasTwoTokens = ({ token }: Frame): boolean => typeof token !== "string" && token.second !== undefined

export const hasToken = ({ token }: Frame): boolean => typeof token !== "string"
