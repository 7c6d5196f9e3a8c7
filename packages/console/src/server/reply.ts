// SPDX-License-Identifier: Apache-2.0
// The headers of every response of the console, and its own small responses. The policy allows the page's own files and
// nothing else: no inline script, no other host, no frame around it.

import type { OutgoingHttpHeaders, ServerResponse } from "node:http"

const COMMON: OutgoingHttpHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

/** The policy for data: if it were opened as a page, it could do nothing. */
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ")
}

export function headers(contentType: string, policy = DATA_POLICY): OutgoingHttpHeaders {
  return { ...COMMON, "content-type": contentType, "content-security-policy": policy, "cache-control": "no-store" }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  further: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { ...headers("application/json"), ...further })
  response.end(JSON.stringify(value))
}

/** An error in the API's format, so that the page handles one format. */
export function sendFailure(response: ServerResponse, status: number, reason: string, message: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  sendJson(response, status, { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason, message })
}
