// SPDX-License-Identifier: Apache-2.0
// Encodes frames as latin1 text, which a socket accepts without a buffer.

import { FLAG, FRAME, MAX_FRAME_SIZE } from "./frame.js"

export function frameHeader(length: number, type: number, flags: number, stream: number): string {
  return String.fromCharCode(
    length >>> 16,
    (length >>> 8) & 0xff,
    length & 0xff,
    type,
    flags,
    stream >>> 24,
    (stream >>> 16) & 0xff,
    (stream >>> 8) & 0xff,
    stream & 0xff,
  )
}

export function uint32(value: number): string {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff)
}

/** HEADERS, followed by CONTINUATION if the block is too large for one frame. */
export function headersText(stream: number, block: string, endStream: boolean): string {
  const end = endStream ? FLAG.endStream : 0
  if (block.length <= MAX_FRAME_SIZE) {
    return frameHeader(block.length, FRAME.headers, end | FLAG.endHeaders, stream) + block
  }
  let text = frameHeader(MAX_FRAME_SIZE, FRAME.headers, end, stream) + block.slice(0, MAX_FRAME_SIZE)
  for (let at = MAX_FRAME_SIZE; at < block.length; at += MAX_FRAME_SIZE) {
    const part = block.slice(at, at + MAX_FRAME_SIZE)
    const last = at + MAX_FRAME_SIZE >= block.length
    text += frameHeader(part.length, FRAME.continuation, last ? FLAG.endHeaders : 0, stream) + part
  }
  return text
}

export function settingsText(settings: readonly (readonly [id: number, value: number])[]): string {
  let text = frameHeader(settings.length * 6, FRAME.settings, 0, 0)
  for (const [id, value] of settings) text += String.fromCharCode(id >>> 8, id & 0xff) + uint32(value)
  return text
}

export const SETTINGS_ACK = frameHeader(0, FRAME.settings, FLAG.ack, 0)

export function pingText(ack: boolean, opaque: string): string {
  return frameHeader(8, FRAME.ping, ack ? FLAG.ack : 0, 0) + opaque
}

export function resetText(stream: number, code: number): string {
  return frameHeader(4, FRAME.reset, 0, stream) + uint32(code)
}

export function windowUpdateText(stream: number, increment: number): string {
  return frameHeader(4, FRAME.windowUpdate, 0, stream) + uint32(increment)
}

/** `debug` is for people who read packet captures; no peer acts on it. */
export function goawayText(lastStream: number, code: number, debug: string): string {
  return frameHeader(8 + debug.length, FRAME.goaway, 0, 0) + uint32(lastStream) + uint32(code) + debug
}
