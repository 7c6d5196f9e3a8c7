// SPDX-License-Identifier: Apache-2.0
// One GET request to a server that the author of a policy chose. Everything is bounded: time from the DNS query to the
// last byte, size of headers and body, allowed addresses. Nothing is shared between fetches: each has its own
// connection, which is closed afterwards. Errors are sentences for users.

import { lookup as systemLookup } from "node:dns"
import { isIP, type LookupFunction, Socket } from "node:net"
import * as tls from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"
import { buildConnector, Client } from "undici"
import { oneLine } from "../observe/one-line.js"
import { type AddressRules, forbiddenAddress } from "./address-guard.js"

const MAX_BODY = 256 * 1024
const MAX_HEADERS = 16 * 1024

export interface GuardedGetOptions extends AddressRules {
  /** PEM of authorities to trust in addition to the system's. */
  readonly caBundle?: string
  /** PEM of the only authorities to trust, instead of all others. */
  readonly onlyAuthorities?: string
  readonly lookup?: LookupFunction
}

export type GuardedAnswer =
  | { readonly ok: true; readonly text: string; readonly cacheControl: string | undefined }
  | { readonly ok: false; readonly error: string }

/** `signal` aborts the whole exchange; its reason, if it is an Error, becomes the message. */
export async function guardedGet(
  url: string,
  signal: AbortSignal,
  options: GuardedGetOptions = {},
): Promise<GuardedAnswer> {
  const target = readUrl(url)
  if (typeof target === "string") return failure(target)
  let client: Client | undefined
  const sockets: Socket[] = []
  try {
    signal.throwIfAborted()
    client = new Client(target.origin, {
      connect: guardedConnector(options, sockets),
      maxHeaderSize: MAX_HEADERS,
      pipelining: 0,
      // The signal is the only deadline; a second one here would only give another message.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    return await withSignal(signal, exchange(client, target, signal))
  } catch (error) {
    return failure(`${shownUrl(target)}: ${reasonOf(error, signal)}`)
  } finally {
    // Not awaited: a name that does not resolve yet would keep us here past the deadline.
    client?.destroy().catch(() => undefined)
    // The client only knows established connections; one that is never established would stay until the system gives
    // up.
    for (const socket of sockets) socket.destroy()
  }
}

export function readUrl(text: string): URL | string {
  if (!URL.canParse(text)) return `\`${oneLine(text)}\` is not a URL; write an absolute http or https URL`
  const url = new URL(text)
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return `\`${shownUrl(url)}\` has the scheme \`${oneLine(url.protocol.slice(0, -1))}\`; only http and https are fetched`
  }
  if (url.username !== "" || url.password !== "") {
    return `\`${shownUrl(url)}\` carries credentials; key sets are public, remove them from the URL`
  }
  return url
}

/** Leaves out credentials, which must not appear in a status, and the query, which may contain some. */
export function shownUrl({ protocol, host, pathname, search }: URL): string {
  return oneLine(`${protocol}//${host}${pathname}${search === "" ? "" : "?…"}`)
}

async function exchange(client: Client, url: URL, signal: AbortSignal): Promise<GuardedAnswer> {
  const { statusCode, headers, body } = await client.request({
    method: "GET",
    path: `${url.pathname}${url.search}`,
    headers: { accept: "application/json", "user-agent": "jwks-fetch" },
    signal,
  })
  const rejected = rejectedAnswer(url, statusCode, headers)
  // An error after the last read would have no handler.
  body.on("error", () => undefined)
  if (rejected !== undefined) {
    body.destroy()
    return failure(rejected)
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    const bytes = chunk as Buffer // a body without an encoding yields buffers
    size += bytes.length
    if (size > MAX_BODY) return failure(tooLarge(url))
    chunks.push(bytes)
  }
  const cacheControl = headers["cache-control"]
  return {
    ok: true,
    text: Buffer.concat(chunks).toString(),
    cacheControl: Array.isArray(cacheControl) ? cacheControl.join(",") : cacheControl,
  }
}

function rejectedAnswer(
  url: URL,
  status: number,
  headers: { readonly [name: string]: string | string[] | undefined },
): string | undefined {
  const { location } = headers
  if (status >= 300 && status < 400 && typeof location === "string") {
    const to = URL.canParse(location, url.href) ? shownUrl(new URL(location, url)) : oneLine(location)
    return `${shownUrl(url)} redirected to ${to}; redirects are not followed, write the final URL`
  }
  if (status !== 200) return `${shownUrl(url)} answered ${status}`
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    return `${shownUrl(url)} answered with content-encoding \`${oneLine(String(encoding))}\`, which was not requested`
  }
  return Number(headers["content-length"] ?? 0) > MAX_BODY ? tooLarge(url) : undefined
}

function tooLarge(url: URL): string {
  return `${shownUrl(url)} answered with more than ${MAX_BODY / 1024} KiB; a key set is smaller`
}

class ForbiddenAddress extends Error {
  constructor(host: string, address: string, what: string) {
    const named = host === address ? "" : ` ${oneLine(address)},`
    super(`\`${oneLine(host)}\` is${named} ${what}; Merlon never fetches keys from such an address`)
  }
}

function guardedConnector(options: GuardedGetOptions, opened: Socket[]): buildConnector.connector {
  const { lookup = systemLookup } = options
  const ca = authorities(options)
  const connect = buildConnector({
    lookup: guardedLookup(lookup, options),
    maxCachedSessions: 0,
    timeout: 0,
    ...TLS_FLOOR,
    ...(ca !== undefined && { ca }),
  })
  return (asked, callback) => {
    const host = asked.hostname.replace(/^\[|\]$/g, "")
    // An address in the URL needs no lookup, so it is checked here.
    const what = isIP(host) === 0 ? undefined : forbiddenAddress(host, options)
    if (what !== undefined) {
      callback(new ForbiddenAddress(host, host, what), null)
      return
    }
    // It returns the socket immediately, connected or not, although its type does not say so.
    const socket: unknown = connect(asked, callback)
    if (socket instanceof Socket) opened.push(socket)
  }
}

/**
 * INVARIANT: the socket connects to the very addresses that were checked here. A name that resolves differently the
 * next time (DNS rebinding) gains nothing, because it is resolved only once.
 */
function guardedLookup(lookup: LookupFunction, rules: AddressRules): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const found = Array.isArray(addresses) ? addresses : []
      const allowed = found.filter(({ address }) => forbiddenAddress(address, rules) === undefined)
      const [first] = allowed
      if (first === undefined) {
        const address = found[0]?.address ?? ""
        const what = forbiddenAddress(address, rules) ?? "no address"
        return callback(new ForbiddenAddress(hostname, address, what), [])
      }
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
}

function authorities({ onlyAuthorities, caBundle }: GuardedGetOptions): string[] | undefined {
  if (onlyAuthorities !== undefined) return [onlyAuthorities]
  return caBundle === undefined ? undefined : [...systemRoots(), caBundle]
}

function systemRoots(): readonly string[] {
  // Newer versions of Node include NODE_EXTRA_CA_CERTS and the system's store; the types are of the oldest version.
  const { getCACertificates } = tls as unknown as { getCACertificates?: (kind: "default") => readonly string[] }
  return getCACertificates?.("default") ?? tls.rootCertificates
}

/** The result of the exchange, or a rejection with the signal's reason as soon as it aborts. */
function withSignal<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error) // the caller aborts with an Error
    signal.addEventListener("abort", abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
}

const PLAIN: { readonly [code: string]: string } = {
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name could not be resolved",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_SOCKET: "the connection was closed before the response was complete",
  UND_ERR_HEADERS_OVERFLOW: "the response headers are too large",
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is self-signed; add it to the CA bundle for key sets",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's CA is not trusted; add it to the CA bundle for key sets",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's CA is not trusted; add it to the CA bundle for key sets",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the server's CA is not trusted; add it to the CA bundle for key sets",
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return signal.reason instanceof Error ? oneLine(signal.reason.message) : "given up"
  if (!(error instanceof Error)) return "failed"
  if (error instanceof ForbiddenAddress) return error.message
  // If several addresses failed for different reasons, the first is reported.
  const cause = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const code = (cause as NodeJS.ErrnoException).code ?? "" // system errors have a code
  if (cause.name === "HTTPParserError" || code.startsWith("HPE_")) return "the response is not valid HTTP"
  return PLAIN[code] ?? oneLine(cause.message)
}

function failure(error: string): GuardedAnswer {
  return { ok: false, error }
}
