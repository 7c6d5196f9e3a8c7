// SPDX-License-Identifier: Apache-2.0
// Headers that describe the caller's connection to the application. Only the proxy may set these names, so values from
// a peer are removed first. The values are the same for all requests of a connection.

import type { Accepted, PeerCertificate } from "../accept/accepted.js"

/** Lower-case names with their values; computed once per connection. */
export function connectionHeaders({ certificate }: Accepted): readonly (readonly [name: string, value: string])[] {
  const scheme = ["x-forwarded-proto", certificate === undefined ? "http" : "https"] as const
  return certificate === undefined ? [scheme] : [scheme, ["x-forwarded-client-cert", forwardedCertificate(certificate)]]
}

/** One element of `x-forwarded-client-cert`, in the form Envoy writes. */
function forwardedCertificate({ by, fingerprint, subject, uri, dns }: PeerCertificate): string {
  const parts = by === undefined ? [] : [`By=${by}`]
  parts.push(`Hash=${fingerprint}`, `Subject="${quotable(subject)}"`, `URI=${uri}`)
  // A name that would need quoting is not a host name. Leaving it out cannot be misread.
  for (const name of dns) if (/^[A-Za-z0-9*._-]+$/.test(name)) parts.push(`DNS=${name}`)
  return parts.join(";")
}

// The peer chose the subject's text: nothing in it may end the quotes, the element or the header line.
function quotable(text: string): string {
  return text
    .replaceAll("\n", ",")
    .replace(/[^\x20-\x7e]/g, "?")
    .replace(/["\\]/g, "\\$&")
}
