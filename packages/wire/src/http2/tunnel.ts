// SPDX-License-Identifier: Apache-2.0
// An upgrade over HTTP/2 to a server: extended CONNECT (RFC 8441). The rest of the code uses HTTP/1.1's 101, so the
// server's success is converted to a 101.

import { createHash } from "node:crypto"
import { NO_BODY } from "../http/framing.js"
import type { ResponseHead } from "../http/head.js"
import type { OutgoingRequest } from "../http/outgoing-request.js"
import { Field } from "./field.js"
import { FieldList } from "./field-list.js"

/** RFC 8441 section 5: HTTP/2 does not use the challenge of HTTP/1.1 and its answer. */
export const WEBSOCKET_KEY = "sec-websocket-key"
const WEBSOCKET_ACCEPT = "sec-websocket-accept"
/** RFC 6455 section 1.3. */
const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
const LENGTH = "content-length"

/** The caller's preferred protocol among those of the request; undefined if it asks for none. */
export function tunnelProtocol({ upgrade }: OutgoingRequest): string | undefined {
  return upgrade?.split(",", 1)[0]?.trim().toLowerCase()
}

export function isSwitched({ status }: ResponseHead): boolean {
  return status >= 200 && status < 300
}

/** The server's success as a 101: the server's headers, and the answer to the caller's challenge. */
export function switchedHead({ headers }: ResponseHead, request: OutgoingRequest, protocol: string): ResponseHead {
  const fields: Field[] = []
  for (let index = 0; index < headers.size; index++) {
    const name = headers.name(index)
    // RFC 9110 section 9.3.6: a tunnel has no length, even if one is declared.
    if (name === LENGTH || name === WEBSOCKET_ACCEPT) continue
    fields.push(new Field(name, headers.value(index), headers.sensitive(index)))
  }
  fields.push(new Field("upgrade", protocol, false))
  const key = protocol === "websocket" ? request.headers.get(WEBSOCKET_KEY)?.[0] : undefined
  if (key !== undefined) fields.push(new Field(WEBSOCKET_ACCEPT, acceptOf(key), false))
  const list = new FieldList(fields)
  return { status: 101, reason: "Switching Protocols", headers: list, framing: NO_BODY, trailers: false }
}

/** RFC 6455 section 4.2.2. */
function acceptOf(key: string): string {
  return createHash("sha1")
    .update(key + WEBSOCKET_GUID, "latin1")
    .digest("base64")
}
