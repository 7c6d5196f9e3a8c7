// SPDX-License-Identifier: Apache-2.0
// Chunks that content is gathered in on its way to a socket, used again once the socket has let go of them: a new buffer
// for each piece of a large body would cost as much as sending it. There are only so many, because a peer that does not
// read keeps one for as long as it likes; whoever gets none makes do with a buffer of the content's own size.

/** For all that one read can bring, with the head before it and the frames around it. */
const CHUNK_BYTES = (64 + 16) * 1024
/** 10 MiB in all. */
const MAX_LENT = 128
/** What is kept for the next body while nobody sends one. */
const MAX_FREE = 8

const free: Buffer[] = []
let lent = 0

/** Undefined where too many are with sockets. Who loses it loses nothing but its memory. */
export function takeChunk(): Buffer | undefined {
  return lent < MAX_LENT ? (free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)) : undefined
}

/** To a socket that has not let go of it until it calls back what this answers. */
export function lendChunk(chunk: Buffer): () => void {
  lent++
  return () => {
    lent--
    giveChunk(chunk)
  }
}

export function giveChunk(chunk: Buffer): void {
  if (free.length < MAX_FREE) free.push(chunk)
}

/** How many are with sockets. */
export function lentChunks(): number {
  return lent
}
