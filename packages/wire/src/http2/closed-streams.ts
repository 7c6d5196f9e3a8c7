// SPDX-License-Identifier: Apache-2.0
// Remembers how recently closed streams ended. After we reset a stream, the peer may send frames until it learns of the
// reset; after it has ended a stream itself it may not (RFC 9113 section 5.1).

/** A power of two: stream ids of one side are two apart, so each of the last streams has its own slot. */
const REMEMBERED = 512

export class ClosedStreams {
  // Created with the first entry: a connection may have one stream for days, and there may be thousands of such
  // connections.
  #streams: Uint32Array | undefined
  #reset: Uint8Array | undefined

  add(stream: number, resetByUs: boolean): void {
    const place = (stream >>> 1) % REMEMBERED
    this.#streams ??= new Uint32Array(REMEMBERED)
    this.#reset ??= new Uint8Array(REMEMBERED)
    this.#streams[place] = stream
    this.#reset[place] = resetByUs ? 1 : 0
  }

  how(stream: number): "reset" | "ended" | "unknown" {
    const place = (stream >>> 1) % REMEMBERED
    if (stream === 0 || this.#streams?.[place] !== stream) return "unknown"
    return this.#reset?.[place] === 1 ? "reset" : "ended"
  }
}
