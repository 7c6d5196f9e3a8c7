// SPDX-License-Identifier: Apache-2.0
// How recently closed streams ended. After we reset a stream, the peer may send until it learns of it; after its own end
// it may not (RFC 9113 section 5.1).

/** A power of two: the numbers of one side's streams are two apart, so each has a place of its own among the last. */
const REMEMBERED = 512

export class ClosedStreams {
  // Made with the first: a connection may have one stream for days, and there may be thousands of those.
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
