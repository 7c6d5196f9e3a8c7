// SPDX-License-Identifier: Apache-2.0
// Watches what a client sends on an undeclared port after it was classified as something other than HTTP: the application
// may still be a lenient HTTP server. It looks for a line that such a server could take for a request line, however the
// bytes are split. INVARIANT: the forwarder asks first, so no such line is ever completed.

import { isSpace, KNOWN_METHODS } from "@merlon/wire/http"

const LF = 0x0a
const CR = 0x0d
const LONGEST_METHOD = Math.max(...[...KNOWN_METHODS].map(method => method.length))
const VERSION = "http/"

/** Where in ` HTTP/1.1` a line stands: nowhere, after white space, inside the name (1 to 5), in the digits, after them. */
const NOWHERE = -1
const DIGITS = VERSION.length
const AFTER_DIGITS = DIGITS + 1

export class HiddenRequest {
  /** Of the line in hand: its first word, as far as it may be a method; undefined once it cannot be one. */
  #word: string | undefined = ""
  /** The first word was a method, and white space has followed. */
  #method = false
  /** Some word has been, so that a version would not be the first. */
  #begun = false
  #version = NOWHERE

  /** Whether these bytes, after all before them, hold what could be read as a request. Not to be forwarded then. */
  foundIn(bytes: Buffer): boolean {
    for (const byte of bytes) if (this.#next(byte)) return true
    return false
  }

  /** Whether the line in hand would be one if it ended now, as it does for some readers when nothing more comes. */
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
    // A method and something to ask for is a request of HTTP/0.9, without any version.
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
    // A line may end in CR alone, or have it for white space; whatever comes next is looked at in both ways.
    const spaced = byte === CR && (this.#begun || this.#word !== "")
    this.#method = byte === CR && (this.#method || KNOWN_METHODS.has(this.#word ?? ""))
    this.#word = ""
    this.#begun = spaced
    this.#version = spaced ? 0 : NOWHERE
    return false
  }

  #readVersion(byte: number): void {
    // A word after a version begins anew: the version may have been what is asked for, and another one follows.
    const at = this.#version === AFTER_DIGITS ? 0 : this.#version
    if (at === DIGITS && (byte === 0x2e || (byte >= 0x30 && byte <= 0x39))) return
    const expected = at >= 0 && at < DIGITS ? VERSION.charCodeAt(at) : -1
    // Letters of the name in either case; its slash has only one.
    this.#version = expected === byte || expected === (byte | 0x20) ? at + 1 : NOWHERE
  }
}
