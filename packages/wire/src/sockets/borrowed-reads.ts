// SPDX-License-Identifier: Apache-2.0
// Reads sockets into one buffer that all connections share, which saves an allocation and the stream machinery for
// every read. The bytes are lent to one callback as `BorrowedBytes` and overwritten after it. So bytes that are kept
// without a copy are wrong at once, in every test, and no connection can see what another one received.

import { type Server, Socket } from "node:net"

/**
 * Bytes that are only valid until the call they were passed to returns. To keep them, copy them with `copyOf` or into
 * your own buffer; views are not possible. Every Buffer can be passed as borrowed bytes, but borrowed bytes are not a
 * Buffer.
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

/** The value of a field of this type while it holds nothing borrowed. */
export const NO_BYTES: BorrowedBytes = Buffer.alloc(0)

type OnBytes = (bytes: BorrowedBytes, length: number) => void

// INVARIANT: filled and consumed within one callback, and no read happens during a callback.
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** Not a character of any protocol that we read. */
const OVERWRITTEN = 0xfe

const ONREAD = onreadFields()

/** Whether this version of Node can read the accepted sockets of a listening server into the shared buffer. */
export function canShareReads(server: Server): boolean {
  // A listening handle has the same class as those it accepts.
  return ONREAD !== undefined && isHandle(Reflect.get(server, "_handle"))
}

/**
 * Passes everything that is read from now on to the callback, in the shared buffer; a later call replaces the callback.
 * False if that is not possible. This is permanent: such a socket has no `data` events anymore.
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
  /** The peer has ended its side. */
  onEnd(): void
  onDrain(): void
  /** Called exactly once, last, however the socket closed. */
  onClose(): void
}

export interface Wire {
  readonly socket: Socket
  /** Whether it reads into the shared buffer; if that is not possible, `data` events are used. */
  readonly shared: boolean
}

/** Delivers nothing before the caller has the wire: reading starts with `resume`. */
export function openWire(socket: Socket, user: WireUser): Wire {
  socket.on("end", () => user.onEnd())
  socket.on("drain", () => user.onDrain())
  // The reason is not needed; `close` follows.
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
  // Fail closed: if the handle does not accept the buffer, the buffer would contain what another connection read.
  if (!isHandle(handle) || handle.useUserBuffer(READ_BUFFER) !== 0) return false
  Reflect.set(socket, field, READ_BUFFER)
  return true
}

/**
 * The symbols under which a socket stores the options of `onread`; undefined if it does not store them unchanged. Node
 * accepts them only when a socket is created. Node itself creates accepted sockets and the TLS sockets around them, so
 * for those the fields are set afterwards.
 */
function onreadFields(): { readonly buffer: symbol; readonly callback: symbol } | undefined {
  const callback = (): boolean => true
  // The types know `onread` only as an option of `connect`.
  const options: object = { onread: { buffer: READ_BUFFER, callback } }
  const socket = new Socket(options)
  const nameOf = (value: unknown): symbol | undefined =>
    Object.getOwnPropertySymbols(socket).find(name => Reflect.get(socket, name) === value)
  const names = { buffer: nameOf(READ_BUFFER), callback: nameOf(callback) }
  return names.buffer === undefined || names.callback === undefined
    ? undefined
    : { buffer: names.buffer, callback: names.callback }
}

/** The method of Node's stream handles that makes them read into a given buffer. */
interface Handle {
  /** Returns 0 on success. */
  useUserBuffer(buffer: Uint8Array): number
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "useUserBuffer" in value
}
