// SPDX-License-Identifier: Apache-2.0
// The ALPN protocols of terminated connections, and which handler each selects.

import type { MeshNames } from "@merlon/policy/mesh"

/** Agreed, `undefined`: nothing was, and the first bytes tell. */
export type AgreedProtocol = "http1" | "http2" | undefined

/** One of the offered protocols; there is always one, because a port that terminates does so whatever the ALPN. */
export function chooseAlpn(
  offered: readonly string[],
  protocol: "http" | "tcp" | "auto",
  { mesh }: MeshNames,
): string | undefined {
  const preferred = protocol === "tcp" ? [mesh] : [`${mesh}-h2`, "h2", `${mesh}-http/1.1`, "http/1.1", mesh]
  // What remains is the application's own protocol, which it speaks through us: the client's first choice stands.
  return preferred.find(name => offered.includes(name)) ?? offered[0]
}

export function agreedProtocol(alpn: string | false | null, { mesh }: MeshNames): AgreedProtocol {
  if (alpn === "h2" || alpn === `${mesh}-h2`) return "http2"
  if (alpn === "http/1.1" || alpn === `${mesh}-http/1.1`) return "http1"
  return undefined
}
