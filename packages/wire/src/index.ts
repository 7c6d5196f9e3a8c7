// SPDX-License-Identifier: Apache-2.0
// The protocol engine: sockets, output buffering, deadlines, minimum TLS settings, and the codecs and connections of
// HTTP/1.1 and HTTP/2. It handles bytes and messages, and knows no policies, xDS or Kubernetes.

export { BodyReader } from "./http1/body-reader.js"
export { chunkStart, lastChunk, pairLines, trailerLines } from "./http1/chunk.js"
export { Http1Downstream } from "./http1/downstream-connection.js"
export { HeadScanner } from "./http1/head-scanner.js"
export { HeaderBlock, parseHeaderLines } from "./http1/header-block.js"
export { Http1Pool } from "./http1/pool.js"
export { parseRequestHead } from "./http1/request-head.js"
export {
  connectionLine,
  framingFor,
  parseResponseHead,
  ResponseHeads,
  responseHeadText,
} from "./http1/response-head.js"
export { STEP } from "./http1/step.js"
export { Connection as Http2Connection } from "./http2/connection.js"
export type { ConnectionUser as Http2ConnectionUser } from "./http2/connection-user.js"
export { Http2Downstream } from "./http2/downstream-connection.js"
export { Field as Http2Field } from "./http2/field.js"
export { FIELD_KIND, fieldName, RECOGNISED_FIELDS } from "./http2/field-kind.js"
export { FieldList } from "./http2/field-list.js"
export {
  DEFAULT_WINDOW,
  ERROR as HTTP2_ERROR,
  type ErrorCode as Http2ErrorCode,
  FLAG,
  FRAME as HTTP2_FRAME,
  MAX_STREAM,
  MAX_WINDOW,
  PREFACE as HTTP2_PREFACE,
  SETTING as HTTP2_SETTING,
} from "./http2/frame.js"
export { FOUND, FrameReader } from "./http2/frame-reader.js"
export {
  frameHeader,
  goawayText,
  headersText,
  pingText,
  resetText,
  settingsText,
  windowUpdateText,
} from "./http2/frame-writer.js"
export { HpackDecoder, type ListError as HeaderListError } from "./http2/hpack/decoder.js"
export { HpackEncoder } from "./http2/hpack/encoder.js"
export { Http2Pool } from "./http2/pool.js"
export { Stream as Http2Stream, type StreamUser as Http2StreamUser } from "./http2/stream.js"
export {
  type BorrowedBytes,
  canShareReads,
  copyOf,
  openWire,
  readIntoShared,
  type Wire,
  type WireUser,
} from "./sockets/borrowed-reads.js"
export { ByteQueue } from "./sockets/byte-queue.js"
export { connectTcp, placeOf, type TcpAddress } from "./sockets/connect.js"
export { OutputBuffer } from "./sockets/output-buffer.js"
