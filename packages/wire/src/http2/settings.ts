// SPDX-License-Identifier: Apache-2.0
// The peer's settings (RFC 9113 section 6.5), with the defaults that apply until it sends them.

import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { DEFAULT_WINDOW, ERROR, type ErrorCode, MAX_WINDOW, SETTING } from "./frame.js"
import { DEFAULT_TABLE_SIZE } from "./hpack/table.js"

export interface PeerSettings {
  headerTableSize: number
  /** Concurrent streams that we may open. */
  maxConcurrentStreams: number
  /** Initial send window of a new stream. */
  initialWindowSize: number
  /** Whether the peer supports WebSockets (RFC 8441 section 3). */
  connectProtocol: boolean
}

export function defaultSettings(maxConcurrentStreams: number): PeerSettings {
  return {
    headerTableSize: DEFAULT_TABLE_SIZE,
    maxConcurrentStreams,
    initialWindowSize: DEFAULT_WINDOW,
    connectProtocol: false,
  }
}

const ENTRY = 6
const MIN_FRAME_SIZE = 2 ** 14
const MAX_FRAME_SIZE = 2 ** 24 - 1

/** Reads a payload into `settings`. An error is a connection error. */
export function readSettings(
  settings: PeerSettings,
  bytes: BorrowedBytes,
  from: number,
  to: number,
  peerIsServer: boolean,
): ErrorCode {
  for (let at = from; at + ENTRY <= to; at += ENTRY) {
    const value = bytes.readUInt32BE(at + 2)
    switch (bytes.readUInt16BE(at)) {
      case SETTING.headerTableSize:
        settings.headerTableSize = value
        break
      case SETTING.enablePush:
        // RFC 9113 section 6.5.2: a server must not enable push.
        if (value > 1 || (peerIsServer && value === 1)) return ERROR.protocol
        break
      case SETTING.maxConcurrentStreams:
        settings.maxConcurrentStreams = value
        break
      case SETTING.initialWindowSize:
        if (value > MAX_WINDOW) return ERROR.flowControl
        settings.initialWindowSize = value
        break
      case SETTING.maxFrameSize:
        // Our frames never exceed the size that every peer must accept.
        if (value < MIN_FRAME_SIZE || value > MAX_FRAME_SIZE) return ERROR.protocol
        break
      case SETTING.enableConnectProtocol:
        // RFC 8441 section 3: support must not be withdrawn.
        if (value > 1 || (settings.connectProtocol && value === 0)) return ERROR.protocol
        settings.connectProtocol = value === 1
        break
      default:
      // RFC 9113 section 6.5.2: unknown settings are ignored.
    }
  }
  return ERROR.none
}
