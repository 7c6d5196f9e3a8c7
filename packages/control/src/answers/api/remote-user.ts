// SPDX-License-Identifier: Apache-2.0
// The user, as reported by the API server in front of us: it has authenticated the user, sends headers, and proves its
// identity with a certificate of the authority that it publishes. INVARIANT: headers of other senders are ignored.

import { X509Certificate } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { TLSSocket } from "node:tls"
import { listOf, objectOf, textOf } from "../../registry/foreign.js"

/** ConfigMap in which the API server publishes its authority and headers for extension API servers. */
export const FRONT_PROXY = { namespace: "kube-system", name: "extension-apiserver-authentication" } as const

export interface RemoteUser {
  readonly name: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
  readonly extra: { readonly [key: string]: readonly string[] }
}

/** The contents of `kube-system/extension-apiserver-authentication`. */
export interface FrontProxy {
  readonly authorities: readonly X509Certificate[]
  /** Allowed common names; any certificate of the authority if empty. */
  readonly allowedNames: readonly string[]
  readonly userHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraPrefixes: readonly string[]
}

/** Undefined if the ConfigMap has nothing usable: then no caller is trusted. */
export function readFrontProxy(data: unknown): FrontProxy | undefined {
  const fields = objectOf(data)
  const authorities = certificatesIn(textOf(fields["requestheader-client-ca-file"]) ?? "")
  if (authorities.length === 0) return undefined
  const list = (name: string, otherwise: readonly string[]): readonly string[] => {
    const text = textOf(fields[name])
    const values = text === undefined ? [] : namesIn(text)
    return values.length > 0 ? values.map(value => value.toLowerCase()) : otherwise
  }
  const allowed = textOf(fields["requestheader-allowed-names"])
  return {
    authorities,
    allowedNames: allowed === undefined ? [] : namesIn(allowed),
    userHeaders: list("requestheader-username-headers", ["x-remote-user"]),
    uidHeaders: list("requestheader-uid-headers", ["x-remote-uid"]),
    groupHeaders: list("requestheader-group-headers", ["x-remote-group"]),
    extraPrefixes: list("requestheader-extra-headers-prefix", ["x-remote-extra-"]),
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function certificatesIn(pem: string): readonly X509Certificate[] {
  try {
    return (pem.match(CERTIFICATE) ?? []).map(one => new X509Certificate(one))
  } catch {
    return []
  }
}

function namesIn(json: string): readonly string[] {
  try {
    return listOf(JSON.parse(json)).flatMap(value => textOf(value) ?? [])
  } catch {
    return []
  }
}

/** Whether the request comes from the API server itself. */
export function isApiServer({ socket }: IncomingMessage, front: FrontProxy, now = Date.now()): boolean {
  const certificate = (socket as TLSSocket).getPeerX509Certificate?.() // the server accepts only TLS
  return certificate !== undefined && isFront(certificate, front, now)
}

/** Undefined if no trusted front proxy names the user. */
export function remoteUser(asked: IncomingMessage, front: FrontProxy, now = Date.now()): RemoteUser | undefined {
  if (!isApiServer(asked, front, now)) return undefined
  const values = (headers: readonly string[]): readonly string[] =>
    headers.flatMap(header => asked.headersDistinct[header] ?? []).map(utf8)
  const [user] = values(front.userHeaders)
  if (user === undefined || user === "") return undefined
  const extra: Record<string, string[]> = Object.create(null)
  for (const [header, lines] of Object.entries(asked.headersDistinct)) {
    const prefix = front.extraPrefixes.find(one => header.startsWith(one))
    if (prefix === undefined || lines === undefined) continue
    extra[unescaped(header.slice(prefix.length))] = lines.map(utf8)
  }
  return { name: user, uid: values(front.uidHeaders)[0], groups: values(front.groupHeaders), extra }
}

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"

/**
 * The handshake has proved that the peer has the key. The certificate is checked here and not by the TLS server, which
 * would trust the public authorities until it is configured with others.
 */
function isFront(certificate: X509Certificate, { authorities, allowedNames }: FrontProxy, now: number): boolean {
  const { validFrom, validTo, keyUsage, subject } = certificate
  if (Date.parse(validFrom) > now || Date.parse(validTo) <= now || certificate.ca) return false
  if (keyUsage !== undefined && !keyUsage.includes(CLIENT_AUTH)) return false
  const name = /^CN=(.*)$/m.exec(subject)?.[1]
  if (allowedNames.length > 0 && (name === undefined || !allowedNames.includes(name))) return false
  return authorities.some(
    authority =>
      Date.parse(authority.validFrom) <= now &&
      Date.parse(authority.validTo) > now &&
      certificate.checkIssued(authority) &&
      certificate.verify(authority.publicKey),
  )
}

/** Names are sent as UTF-8, but Node decodes each byte as a character. Undecoded, the name would be another user's. */
function utf8(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8")
}

/** Keys may contain characters that are not allowed in header names, so they are percent-encoded. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
