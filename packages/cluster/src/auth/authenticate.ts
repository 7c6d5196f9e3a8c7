// SPDX-License-Identifier: Apache-2.0
// Authenticates a request: a client certificate of our authority, a bearer token, or anonymous. An invalid credential is
// rejected, never treated as anonymous.

import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { TLSSocket } from "node:tls"
import { unauthorized } from "../meta/status.js"
import type { User } from "../registry/context.js"
import { readSubject } from "./subject.js"
import { ISSUER, type TokenChecker } from "./tokens.js"

export const anonymous: User = { name: "system:anonymous", uid: "", groups: ["system:unauthenticated"], extra: {} }

export async function authenticate(request: IncomingMessage, tokens: TokenChecker): Promise<User> {
  const header = request.headers.authorization
  const bearer = header === undefined ? undefined : /^bearer (.+)$/i.exec(header.trim())?.[1]
  if (bearer !== undefined) {
    const result = await tokens.check(bearer.trim(), [ISSUER])
    if ("error" in result) throw unauthorized(result.senderMessage)
    return result.user
  }
  return certificateUser(request.socket as TLSSocket) ?? anonymous
}

interface Certified {
  readonly user: User
  /** Milliseconds since the epoch. */
  readonly endsAt: number
}

const known = new WeakMap<TLSSocket, Certified | null>()

/**
 * Parsed once per connection. The connection may outlive the certificate, and TLS does not check the expiry again when
 * a session is resumed.
 */
function certificateUser(socket: TLSSocket): User | undefined {
  const before = known.get(socket)
  const certified = before === undefined ? readCertificate(socket) : before
  if (before === undefined) known.set(socket, certified ?? null)
  if (certified === undefined || certified === null) return undefined
  // Fail closed: an unreadable expiry (NaN) is rejected too.
  if (!(Date.now() < certified.endsAt)) throw unauthorized()
  return certified.user
}

function readCertificate(socket: TLSSocket): Certified | undefined {
  const certificate = socket.getPeerX509Certificate?.()
  if (certificate === undefined) return undefined
  // Fail closed: a certificate that our authority did not sign is an error and does not make the client anonymous.
  if (!socket.authorized) throw unauthorized()
  const subject = readSubject(certificate.raw)
  if (subject === undefined) throw unauthorized()
  const fingerprint = createHash("sha256").update(certificate.raw).digest("hex")
  const user = {
    name: subject.name,
    uid: "",
    groups: [...subject.groups, "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] },
  }
  return { user, endsAt: Date.parse(certificate.validTo) }
}
