// SPDX-License-Identifier: Apache-2.0
// The ALPN protocols of terminated connections, and which handler each selects.

import type { MeshNames } from "@merlon/policy/mesh"

/** `undefined`: no protocol was agreed on, and the first bytes decide. */
export type AgreedProtocol = "http1" | "http2" | undefined

/**
 * Chooses one of the offered protocols. There always is one, because a port that terminates TLS does so whatever the
 * ALPN.
 */
export function chooseAlpn(
  offered: readonly string[],
  protocol: "http" | "tcp" | "auto",
  { mesh }: MeshNames,
): string | undefined {
  const preferred = protocol === "tcp" ? [mesh] : [`${mesh}-h2`, "h2", `${mesh}-http/1.1`, "http/1.1", mesh]
  // The rest is the application's own protocol, tunnelled through the proxy: the client's first choice counts.
  return preferred.find(name => offered.includes(name)) ?? offered[0]
}

export function agreedProtocol(alpn: string | false | null, { mesh }: MeshNames): AgreedProtocol {
  if (alpn === "h2" || alpn === `${mesh}-h2`) return "http2"
  if (alpn === "http/1.1" || alpn === `${mesh}-http/1.1`) return "http1"
  return undefined
}
