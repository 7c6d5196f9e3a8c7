// SPDX-License-Identifier: Apache-2.0
// Runs the codec over bytes in pieces, as a connection does: returns every complete message, and how reading ended.

import type { Framing, HttpError } from "../../http/public.js"
import { BodyReader } from "../body-reader.js"
import { HeadScanner } from "../head-scanner.js"
import type { HeaderBlock } from "../header-block.js"
import { parseRequestHead } from "../request-head.js"
import { parseResponseHead } from "../response-head.js"
import { STEP } from "../step.js"

export interface ReadMessage<Head> {
  readonly head: Head
  readonly body: Buffer
  readonly trailers: HeaderBlock | undefined
}

export interface ReadResult<Head> {
  readonly messages: readonly ReadMessage<Head>[]
  readonly error: HttpError | undefined
  /** The incomplete last message: its head, and what has arrived of its body. */
  readonly pending: { readonly head: Head | undefined; readonly body: Buffer } | undefined
}

const MAX_BYTES = 64 * 1024
const MAX_LINES = 200

export const readRequests = (pieces: readonly Buffer[], maxBytes = MAX_BYTES) =>
  readMessages(pieces, text => parseRequestHead(text, MAX_LINES), maxBytes, false)
export const readResponses = (pieces: readonly Buffer[], method: string) =>
  readMessages(pieces, text => parseResponseHead(text, method, MAX_LINES), MAX_BYTES, true)

function readMessages<Head extends { readonly framing: Framing; readonly keepAlive: boolean }>(
  pieces: readonly Buffer[],
  parse: (text: string) => Head | HttpError,
  maxBytes: number,
  takesWhitespace: boolean,
): ReadResult<Head> {
  const scanner = new HeadScanner(maxBytes, true)
  const reader = new BodyReader(maxBytes, MAX_LINES, takesWhitespace)
  const messages: ReadMessage<Head>[] = []
  let head: Head | undefined
  let body: Buffer[] = []
  for (const piece of pieces) {
    let at = 0
    // Once more at the end of a piece: a body may be complete without another byte.
    while (at < piece.length || head !== undefined) {
      if (head === undefined) {
        const after = scanner.scan(piece, at, piece.length)
        if (after === -1) break
        if (after === -2) return { messages, error: scanner.error, pending: undefined }
        const parsed = parse(scanner.text)
        if (typeof parsed === "string") return { messages, error: parsed, pending: undefined }
        head = parsed
        reader.begin(parsed.framing)
        at = after
        continue
      }
      const step = reader.read(piece, at, piece.length)
      if (step === STEP.error) return { messages, error: reader.error, pending: undefined }
      at = reader.next
      if (step === STEP.more) break
      if (step === STEP.data) body.push(Buffer.from(piece.subarray(reader.start, reader.end)))
      else {
        messages.push({ head, body: Buffer.concat(body), trailers: reader.trailers })
        // Bytes after the last message of a connection are not a message.
        if (!head.keepAlive) return { messages, error: undefined, pending: undefined }
        head = undefined
        body = []
      }
    }
  }
  const unfinished = head !== undefined || scanner.begun
  return { messages, error: undefined, pending: unfinished ? { head, body: Buffer.concat(body) } : undefined }
}

export function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...[...cuts].sort((a, b) => a - b).filter(cut => cut < bytes.length), bytes.length]
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

export const everyByte = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
