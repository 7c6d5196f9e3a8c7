// SPDX-License-Identifier: Apache-2.0
// Reads sockets into one buffer that all connections share, which saves an allocation and the stream machinery with every
// read. The bytes are lent for one callback as `BorrowedBytes` and overwritten after it: bytes that are kept without a
// copy are wrong at once, in every test, and no connection can see what another one received.

import { type Server, Socket } from "node:net"

/**
 * Bytes that are only valid until the call they were passed to returns. Copy what must last, with `copyOf` or into a buffer
 * of your own; a view of them is not to be had. Every Buffer may be lent, and no borrowed bytes are a Buffer.
 */
export interface BorrowedBytes {
  readonly length: number
  readonly [index: number]: number
  copy(target: Uint8Array, targetStart: number, from: number, to: number): number
  toString(encoding: "latin1", from: number, to: number): string
  readUInt16BE(at: number): number
  readUInt32BE(at: number): number
}

export function copyOf(bytes: BorrowedBytes, from: number, to: number): Buffer {
  const own = Buffer.allocUnsafe(to - from)
  bytes.copy(own, 0, from, to)
  return own
}

/** For a field of this type that holds nothing borrowed. */
export const NO_BYTES: BorrowedBytes = Buffer.alloc(0)

type OnBytes = (bytes: BorrowedBytes, length: number) => void

// INVARIANT: read and used up within one callback, and no read happens within another.
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** Not a character of any protocol that we read. */
const OVERWRITTEN = 0xfe

const ONREAD = onreadFields()

/** Whether this Node lets what a listening server accepts be read into the shared buffer. */
export function canShareReads(server: Server): boolean {
  // A listening handle is of the class of those it accepts.
  return ONREAD !== undefined && isHandle(Reflect.get(server, "_handle"))
}

/**
 * Passes on what is read from now on, in the shared buffer; a later call replaces the callback of an earlier one. False
 * where that is not possible. There is no way back: such a socket has no `data` events any more.
 */
export function readIntoShared(socket: Socket, onBytes: OnBytes): boolean {
  if (ONREAD === undefined) return false
  if (Reflect.get(socket, ONREAD.buffer) !== READ_BUFFER && !giveBuffer(socket, ONREAD.buffer)) return false
  Reflect.set(socket, ONREAD.callback, (length: number): boolean => {
    try {
      onBytes(READ_BUFFER, length)
    } finally {
      READ_BUFFER.fill(OVERWRITTEN, 0, length)
    }
    return true
  })
  return true
}

export interface WireUser {
  onBytes(bytes: BorrowedBytes, length: number): void
  /** The peer has said all it wants to say. */
  onEnd(): void
  onDrain(): void
  /** Comes once, last, whatever happened. */
  onClose(): void
}

export interface Wire {
  readonly socket: Socket
  /** Whether it reads into the shared buffer; plain `data` events serve where that is not possible. */
  readonly shared: boolean
}

/** Nothing is passed on before the caller has the wire: reading starts with `resume`. */
export function openWire(socket: Socket, user: WireUser): Wire {
  socket.on("end", () => user.onEnd())
  socket.on("drain", () => user.onDrain())
  // The reason is of no use; `close` follows.
  socket.on("error", () => undefined)
  socket.on("close", () => user.onClose())
  const shared = readIntoShared(socket, (bytes, length) => user.onBytes(bytes, length))
  if (!shared) socket.on("data", chunk => user.onBytes(chunk, chunk.length))
  socket.pause()
  return { socket, shared }
}

function giveBuffer(socket: Socket, field: symbol): boolean {
  if (socket.destroyed || socket.readableEnded || socket.readableLength > 0) return false
  const handle: unknown = Reflect.get(socket, "_handle")
  // Fail closed: where the handle did not take the buffer, it holds what another connection read.
  if (!isHandle(handle) || handle.useUserBuffer(READ_BUFFER) !== 0) return false
  Reflect.set(socket, field, READ_BUFFER)
  return true
}

/**
 * The names under which a socket keeps the options of `onread`; undefined where it does not keep them unchanged. Node takes
 * them when a socket is made; accepted sockets and the TLS around them are made for us, so they are given afterwards.
 */
function onreadFields(): { readonly buffer: symbol; readonly callback: symbol } | undefined {
  const callback = (): boolean => true
  // Types know `onread` of `connect` alone.
  const options: object = { onread: { buffer: READ_BUFFER, callback } }
  const socket = new Socket(options)
  const nameOf = (value: unknown): symbol | undefined =>
    Object.getOwnPropertySymbols(socket).find(name => Reflect.get(socket, name) === value)
  const names = { buffer: nameOf(READ_BUFFER), callback: nameOf(callback) }
  return names.buffer === undefined || names.callback === undefined
    ? undefined
    : { buffer: names.buffer, callback: names.callback }
}

/** The part of Node's stream handles that makes them read into a buffer of ours. */
interface Handle {
  /** 0 where it will. */
  useUserBuffer(buffer: Uint8Array): number
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "useUserBuffer" in value
}
