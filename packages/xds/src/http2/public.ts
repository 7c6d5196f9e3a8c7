// SPDX-License-Identifier: Apache-2.0
// What other packages may use of HTTP/2 on sockets: connections and streams, and the parts that HTTP/1.1 shares with them.

export { Budget as ChoreBudget } from "./budget.js"
export { Connection as Http2Connection } from "./connection.js"
export { Field as Http2Field } from "./field.js"
export { FIELD_KIND, type FieldKind, fieldName } from "./field-kind.js"
export {
  DEFAULT_WINDOW,
  ERROR as HTTP2_ERROR,
  type ErrorCode as Http2ErrorCode,
  FRAME as HTTP2_FRAME,
  MAX_STREAM,
  MAX_WINDOW,
  PREFACE as HTTP2_PREFACE,
  SETTING as HTTP2_SETTING,
} from "./frame.js"
export { FOUND, FrameReader } from "./frame-reader.js"
export { headersText, pingText, resetText, settingsText, windowUpdateText } from "./frame-writer.js"
export { HpackDecoder, type ListFault as HeaderListFault } from "./hpack/decoder.js"
export { HpackEncoder } from "./hpack/encoder.js"
export { Outbox } from "./outbox.js"
export { Pieces } from "./pieces.js"
export { READ_BUFFER, READ_VIEW } from "./read-buffer.js"
export { canShareReads, readIntoShared } from "./shared-reads.js"
export type { Stream as Http2Stream, StreamUser as Http2StreamUser } from "./stream.js"
