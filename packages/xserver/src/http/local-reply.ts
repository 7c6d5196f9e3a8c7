// SPDX-License-Identifier: Apache-2.0
// Responses of the proxy itself: denials, and errors for an application that does not respond. The text says what
// happened and reveals nothing about policies.

import type { FieldPairs, LocalReply, UpstreamFailure } from "@merlon/wire/http"
import { HTTP_ERRORS, type HttpError } from "@merlon/wire/http"

const NO_FIELDS: FieldPairs = []

export const UPSTREAM_REPLIES: { readonly [failure in UpstreamFailure]: LocalReply } = {
  connect: unavailable("upstream connect error: the application accepts no connection"),
  "connect-timeout": unavailable("upstream connect error: connecting to the application timed out"),
  refused: unavailable("upstream refused: the application rejected the request"),
  reset: unavailable("upstream disconnect: the application closed the connection before it responded"),
  "pending-full": unavailable("upstream overflow: too many requests wait for the application"),
  protocol: {
    status: 502,
    body: "upstream protocol error: the application's response is malformed",
    fields: NO_FIELDS,
  },
  "response-timeout": { status: 504, body: "upstream request timeout", fields: NO_FIELDS },
}

/** The client did not send the content that it announced. */
export const TOO_SLOW: LocalReply = { status: 408, body: "the request's content took too long", fields: NO_FIELDS }

export function errorReply(error: HttpError, fields: FieldPairs): LocalReply {
  const { status, text } = HTTP_ERRORS[error]
  return { status, body: text, fields }
}

/** Tells the caller's proxy that no application has seen the request, so that it may be sent to another endpoint. */
export const NOT_FORWARDED = "not-forwarded"
/**
 * Tells the caller's proxy that the application closed the connection before it responded: a request may be sent again
 * if that is safe.
 */
export const RESET = "reset"

function unavailable(body: string): LocalReply {
  return { status: 503, body, fields: NO_FIELDS }
}
