// SPDX-License-Identifier: Apache-2.0
// Classifies the headers that a proxy handles, once while a message is parsed. Common spellings are cached, so that
// classifying a header costs one lookup and no new string.

/** What a header means to the proxy; most are `plain`. */
export const FIELD_KIND = {
  plain: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 3,
  connection: 4,
  /** Hop-by-hop (RFC 9110 section 7.6.1): never forwarded. */
  hop: 5,
  te: 6,
  upgrade: 7,
  expect: 8,
  forwardedFor: 9,
  forwardedProto: 10,
  forwardedClientCert: 11,
  requestId: 12,
  cookie: 13,
} as const

export type FieldKind = (typeof FIELD_KIND)[keyof typeof FIELD_KIND]

export interface FieldName {
  readonly lower: string
  readonly kind: FieldKind
}

/**
 * The headers that the proxy handles by name. The evaluator protects the same ones, and a test of xserver compares the
 * two.
 */
export const RECOGNISED_FIELDS: Readonly<Record<string, FieldKind>> = {
  host: FIELD_KIND.host,
  "content-length": FIELD_KIND.contentLength,
  "transfer-encoding": FIELD_KIND.transferEncoding,
  connection: FIELD_KIND.connection,
  "keep-alive": FIELD_KIND.hop,
  "http2-settings": FIELD_KIND.hop,
  te: FIELD_KIND.te,
  upgrade: FIELD_KIND.upgrade,
  expect: FIELD_KIND.expect,
  "x-forwarded-for": FIELD_KIND.forwardedFor,
  "x-forwarded-proto": FIELD_KIND.forwardedProto,
  "x-forwarded-client-cert": FIELD_KIND.forwardedClientCert,
  "x-request-id": FIELD_KIND.requestId,
  cookie: FIELD_KIND.cookie,
}

const COMMON =
  "accept accept-charset accept-encoding accept-language accept-ranges access-control-allow-origin age allow " +
  "authorization cache-control content-disposition content-encoding content-language content-location content-range " +
  "content-type date etag expires from if-match if-modified-since if-none-match if-range if-unmodified-since " +
  "last-modified link location origin pragma range referer retry-after sec-fetch-dest sec-fetch-mode sec-fetch-site " +
  "sec-websocket-accept sec-websocket-key sec-websocket-protocol sec-websocket-version server set-cookie " +
  "strict-transport-security traceparent tracestate trailer upgrade-insecure-requests user-agent vary via " +
  "www-authenticate x-content-type-options x-forwarded-host x-powered-by"

const REMEMBERED = new Map<string, FieldName>()
for (const lower of [...Object.keys(RECOGNISED_FIELDS), ...COMMON.split(" ")]) {
  const name = { lower, kind: kindOf(lower) }
  REMEMBERED.set(lower, name)
  REMEMBERED.set(
    lower.replace(/(^|-)[a-z]/g, letter => letter.toUpperCase()),
    name,
  )
}

export function fieldName(written: string): FieldName {
  const remembered = REMEMBERED.get(written)
  if (remembered !== undefined) return remembered
  const lower = written.toLowerCase()
  return REMEMBERED.get(lower) ?? { lower, kind: kindOf(lower) }
}

function kindOf(lower: string): FieldKind {
  if (lower.startsWith("proxy-")) return FIELD_KIND.hop
  return Object.hasOwn(RECOGNISED_FIELDS, lower) ? (RECOGNISED_FIELDS[lower] ?? FIELD_KIND.plain) : FIELD_KIND.plain
}
