// SPDX-License-Identifier: Apache-2.0
// The constants of RFC 9113 sections 4 to 7.

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const FLAG = {
  endStream: 0x1,
  ack: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const

export const ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  connect: 10,
  calm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const

export type ErrorCode = (typeof ERROR)[keyof typeof ERROR]

export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  /** RFC 8441 section 3. */
  enableConnectProtocol: 8,
} as const

export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
export const FRAME_HEADER = 9
/** The default that applies until a peer announces another; we never do (RFC 9113 section 6.5.2). */
export const MAX_FRAME_SIZE = 16_384
export const DEFAULT_WINDOW = 65_535
export const MAX_WINDOW = 2 ** 31 - 1
export const MAX_STREAM = 2 ** 31 - 1
