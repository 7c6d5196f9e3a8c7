// SPDX-License-Identifier: Apache-2.0
// What both versions of HTTP share; a subpath export.

export { CR, FIELD, LF, SP } from "./characters.js"
export { Deadlines, type Expiring, UNWATCHED } from "./deadlines.js"
export { detectHttp, isPreface, isSpace, KNOWN_METHODS } from "./detect.js"
export type {
  DownstreamConnection,
  DownstreamLimits,
  DownstreamOptions,
  DownstreamUser,
  Drain,
  Exchange,
  ExchangeStart,
  Responder,
} from "./downstream.js"
export { type FieldPairs, type Fields, hasOption, pairsOf } from "./fields.js"
export { CHUNKED, type Framing, hasContent, NO_BODY, requestFraming, responseFraming, UNTIL_CLOSE } from "./framing.js"
export type { HttpVersion, RequestHead, ResponseHead, WrittenHead } from "./head.js"
export { HTTP_ERRORS, type HttpError } from "./http-error.js"
export type { LocalReply } from "./local-reply.js"
export type { OutgoingRequest } from "./outgoing-request.js"
export { REQUEST_ID_HEADER, requestId } from "./request-id.js"
export { isRejected, isSwitchedAsAsked, upgradeOf } from "./upgrade.js"
export {
  type Connect,
  type ConnectOptions,
  neverProcessed,
  type SharedLimits,
  type Upstream,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamLimits,
  type UpstreamListener,
  type UpstreamObserver,
  type UpstreamOptions,
} from "./upstream.js"
