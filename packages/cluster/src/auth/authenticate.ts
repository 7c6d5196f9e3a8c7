// SPDX-License-Identifier: Apache-2.0
//
// Who sends a request: a client certificate of our authority, a bearer token, or nobody (anonymous). A
// credential that is sent but does not hold is refused, never treated as anonymous.

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
    if ("error" in result) throw unauthorized(result.told)
    return result.user
  }
  return certificateUser(request.socket as TLSSocket) ?? anonymous
}

const users = new WeakMap<TLSSocket, User | null>()

/** Parsed once per connection. */
function certificateUser(socket: TLSSocket): User | undefined {
  const known = users.get(socket)
  if (known !== undefined) return known ?? undefined
  const user = readCertificate(socket)
  users.set(socket, user ?? null)
  return user
}

function readCertificate(socket: TLSSocket): User | undefined {
  const certificate = socket.getPeerX509Certificate?.()
  if (certificate === undefined) return undefined
  // Fail closed: a certificate that our authority did not sign is an error, not anonymity.
  if (!socket.authorized) throw unauthorized()
  const subject = readSubject(certificate.raw)
  if (subject === undefined) throw unauthorized()
  const fingerprint = createHash("sha256").update(certificate.raw).digest("hex")
  return {
    name: subject.name,
    uid: "",
    groups: [...subject.groups, "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] },
  }
}
