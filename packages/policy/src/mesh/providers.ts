// SPDX-License-Identifier: Apache-2.0
// The external authorizers that CUSTOM policies may name. The mesh declares them; a proxy asks them. Read strictly, from a
// file of people and from the control plane alike, because each field decides who may answer and what is believed.

import { isWritableHeader } from "../resources/header-name.js"
import { choice, list, openObject, optional, type Read, settings, text, whole, wrong } from "../shape/shape.js"

export interface AuthorizationProvider {
  /** The value of `provider.name` in a policy. */
  readonly name: string
  /** Envoy's `ext_authz`, over gRPC or HTTP, or the OpenID Authorization API. */
  readonly protocol: "grpc" | "http" | "authzen"
  /** `HOST:PORT`. */
  readonly address: string
  /** Precedes the path of the request in question (HTTP) or the path of the API (AuthZEN). */
  readonly pathPrefix: string
  /** For connecting, asking and the complete answer together. */
  readonly timeoutMs: number
  /** What happens to a request if the provider gives no usable answer. */
  readonly failureMode: "closed" | "open"
  /** Lower-case names of request headers that are sent; `*` stands for all of them. */
  readonly sendHeaders: readonly string[]
  /** Lower-case names that an allowing answer may write. Callers cannot send them if the provider may be asked. */
  readonly headersToUpstream: readonly string[]
  /** Lower-case names that a denying answer may send to the caller. */
  readonly headersToCaller: readonly string[]
  /** Absent for plaintext. */
  readonly tls?: {
    /** Default: the host. */
    readonly serverName?: string
    /** PEM. Default: the authorities of this machine. */
    readonly ca?: string
  }
}

const MAX_PROVIDERS = 100
const MAX_HEADERS = 100
const MAX_NAME = 253
const MAX_PEM = 256 * 1024
/** Callers wait at most a minute for content. */
const MAX_TIMEOUT_MS = 30_000
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([^:/?#@\s[\]]{1,253})):(\d{1,5})$/
const PATH_PREFIX = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@/-]*)?$/
/** Headers that identify the caller to us or that other parts of the proxy write: a provider must never write them. */
const NOT_FOR_PROVIDERS = ["authorization", "cookie", "x-request-id", "x-forwarded-for", "forwarded"]
const SENT_BY_DEFAULT = ["authorization", "cookie"]
const TOLD_BY_DEFAULT = ["location", "set-cookie", "www-authenticate"]

const matching =
  (form: RegExp, wanted: string): Read<string> =>
  (value, path) => {
    if (typeof value === "string" && form.test(value)) return value
    throw wrong(path, wanted, value)
  }

const address: Read<string> = (value, path) => {
  const parsed = matching(ADDRESS, "must be HOST:PORT")(value, path)
  if (hostAndPort(parsed).port > 0 && hostAndPort(parsed).port < 65_536) return parsed
  throw wrong(path, "must have a port from 1 to 65535", value)
}

const header: Read<string> = (value, path) =>
  matching(FIELD_NAME, "must be the name of a header")(typeof value === "string" ? value.toLowerCase() : value, path)

const writableHeader: Read<string> = (value, path) => {
  const name = header(value, path)
  if (isWritableHeader(name) && !NOT_FOR_PROVIDERS.includes(name) && !name.startsWith("proxy-")) return name
  throw wrong(path, "must be a header that a provider may write", value)
}

const forwardedHeader: Read<string> = (value, path) => {
  const name = header(value, path)
  if (isWritableHeader(name)) return name
  throw wrong(path, "must be a header that says nothing about framing", value)
}

const headers = (read: Read<string>, fallback: readonly string[]): Read<readonly string[]> => {
  const several = list(MAX_HEADERS, read)
  return (value, path) => (value === undefined ? fallback : several(value, path))
}

const optionalText =
  (most: number): Read<string | undefined> =>
  (value, path) =>
    value === undefined ? undefined : text(most, 1)(value, path)

const tlsFields = { serverName: optionalText(MAX_NAME), ca: optionalText(MAX_PEM) }

const fields = {
  name: text(MAX_NAME, 1),
  protocol: choice("grpc", "http", "authzen"),
  address,
  pathPrefix: (value: unknown, path: string) =>
    value === undefined ? "" : matching(PATH_PREFIX, "must begin with `/` and have no query")(value, path),
  timeoutMs: (value: unknown, path: string) => (value === undefined ? 1_000 : whole(1, MAX_TIMEOUT_MS)(value, path)),
  failureMode: (value: unknown, path: string) =>
    value === undefined ? "closed" : choice("closed", "open")(value, path),
  sendHeaders: headers(header, SENT_BY_DEFAULT),
  headersToUpstream: headers(writableHeader, []),
  headersToCaller: headers(forwardedHeader, TOLD_BY_DEFAULT),
}

const inFiles: Read<AuthorizationProvider> = settings({ ...fields, tls: optional(settings(tlsFields)) })
const onTheWire: Read<AuthorizationProvider> = openObject<AuthorizationProvider>({
  ...fields,
  tls: optional(openObject<NonNullable<AuthorizationProvider["tls"]>>(tlsFields)),
})

/** In a file of people. `fileText` reads the certificate authority, which `tls.ca` names by its file. Throws a `ShapeError` that names the field. */
export function readProviderSettings(
  value: unknown,
  fileText: (path: string) => string,
): readonly AuthorizationProvider[] {
  const { providers = [] } = settings({ providers: optional((item, path) => severalOf(inFiles, item, path)) })(
    value,
    "",
  )
  return providers.map(provider => {
    const { tls } = provider
    return tls?.ca === undefined ? provider : { ...provider, tls: { ...tls, ca: fileText(tls.ca) } }
  })
}

/** As a control plane sends them, which may be older or newer. */
export const readProviders: Read<readonly AuthorizationProvider[]> = (value, path) =>
  value === undefined ? [] : severalOf(onTheWire, value, path)

function severalOf(read: Read<AuthorizationProvider>, value: unknown, path: string): readonly AuthorizationProvider[] {
  const providers = list(MAX_PROVIDERS, read)(value, path)
  for (const [at, { name }] of providers.entries()) {
    if (providers.findIndex(other => other.name === name) === at) continue
    throw wrong(`${path}[${at}].name`, "must be the name of one provider", name)
  }
  return providers
}

/** Of an address that was read. */
export function hostAndPort(parsed: string): { readonly host: string; readonly port: number } {
  const [, ipv6, name = "", port] = ADDRESS.exec(parsed) ?? []
  return { host: ipv6 ?? name, port: Number(port) }
}
