// SPDX-License-Identifier: Apache-2.0
// Everything that can be wrong with a message, as a closed set. An invalid request is answered with the status of its
// error and the connection is closed, because the start of the next message is unknown. An invalid response becomes a
// 502.

export interface ErrorReply {
  readonly status: 400 | 405 | 431 | 501 | 505
  readonly text: string
}

export const HTTP_ERRORS = {
  "bad-request-line": { status: 400, text: "malformed request line" },
  "bad-status-line": { status: 400, text: "malformed status line" },
  "bad-pseudo-header": { status: 400, text: "malformed pseudo-header" },
  "unknown-method": { status: 501, text: "method not implemented" },
  "connect-rejected": { status: 405, text: "CONNECT is not offered here" },
  "bad-version": { status: 505, text: "HTTP version not supported" },
  "bad-target": { status: 400, text: "malformed request target" },
  "bad-line-end": { status: 400, text: "a line ends in something other than CRLF" },
  "folded-header": { status: 400, text: "folded header line" },
  "bad-header-name": { status: 400, text: "malformed header name" },
  "bad-header-value": { status: 400, text: "malformed header value" },
  "no-host": { status: 400, text: "missing Host header" },
  "two-hosts": { status: 400, text: "more than one Host header" },
  "bad-host": { status: 400, text: "malformed Host header" },
  "bad-length": { status: 400, text: "malformed Content-Length header" },
  "two-lengths": { status: 400, text: "more than one Content-Length header" },
  "length-and-encoding": { status: 400, text: "both Content-Length and Transfer-Encoding" },
  "bad-encoding": { status: 400, text: "Transfer-Encoding is not `chunked`" },
  "bad-chunk": { status: 400, text: "malformed chunk" },
  "bad-trailer": { status: 400, text: "malformed trailer" },
  "head-too-large": { status: 431, text: "request headers too large" },
  "too-many-headers": { status: 431, text: "too many request headers" },
} as const satisfies Record<string, ErrorReply>

export type HttpError = keyof typeof HTTP_ERRORS
