// SPDX-License-Identifier: Apache-2.0
// Watches what a client sends on an undeclared port after it was classified as something other than HTTP: the
// application may still be a lenient HTTP server. It looks for a line that such a server could read as a request line,
// however the bytes are split. INVARIANT: the forwarder checks before it sends, so no such line is ever completed.

import { isSpace, KNOWN_METHODS } from "@merlon/wire/http"

const LF = 0x0a
const CR = 0x0d
const LONGEST_METHOD = Math.max(...[...KNOWN_METHODS].map(method => method.length))
const VERSION = "http/"

/** Position within ` HTTP/1.1`: nowhere, after white space, inside the name (1 to 5), in the digits, after them. */
const NOWHERE = -1
const DIGITS = VERSION.length
const AFTER_DIGITS = DIGITS + 1

export class HiddenRequest {
  /** First word of the current line, as far as it may be a method; undefined once it cannot be one. */
  #word: string | undefined = ""
  /** The first word was a method, and white space followed. */
  #method = false
  /** The line already has a word, so that a version would not be the first. */
  #begun = false
  #version = NOWHERE

  /**
   * Whether these bytes, after all earlier ones, contain something that could be read as a request. They must then not
   * be forwarded.
   */
  foundIn(bytes: Buffer): boolean {
    for (const byte of bytes) if (this.#next(byte)) return true
    return false
  }

  /** Whether the current line would be a request if it ended now. Some readers end it when no more bytes come. */
  get unfinished(): boolean {
    return this.#begun && this.#version >= DIGITS
  }

  #next(byte: number): boolean {
    if (byte === LF || byte === CR) return this.#lineEnd(byte)
    if (isSpace(byte)) {
      if (this.#word !== undefined && this.#word !== "") {
        this.#method = KNOWN_METHODS.has(this.#word)
        this.#word = undefined
        this.#begun = true
      }
      this.#version = this.#version >= DIGITS ? AFTER_DIGITS : 0
      return false
    }
    // A method and a target are an HTTP/0.9 request, without any version.
    if (this.#method) return true
    this.#readVersion(byte)
    if (this.#word !== undefined) {
      const word = this.#word + String.fromCharCode(byte)
      if (word.length > LONGEST_METHOD) {
        this.#word = undefined
        this.#begun = true
      } else this.#word = word
    }
    return false
  }

  #lineEnd(byte: number): boolean {
    if (this.unfinished) return true
    // CR alone may end a line, or count as white space; the following bytes are read both ways.
    const spaced = byte === CR && (this.#begun || this.#word !== "")
    this.#method = byte === CR && (this.#method || KNOWN_METHODS.has(this.#word ?? ""))
    this.#word = ""
    this.#begun = spaced
    this.#version = spaced ? 0 : NOWHERE
    return false
  }

  #readVersion(byte: number): void {
    // A word after a version starts over: the version may have been the target, and another one may follow.
    const at = this.#version === AFTER_DIGITS ? 0 : this.#version
    if (at === DIGITS && (byte === 0x2e || (byte >= 0x30 && byte <= 0x39))) return
    const expected = at >= 0 && at < DIGITS ? VERSION.charCodeAt(at) : -1
    // Letters match in either case; the slash has only one form.
    this.#version = expected === byte || expected === (byte | 0x20) ? at + 1 : NOWHERE
  }
}
