// SPDX-License-Identifier: Apache-2.0
// Reads into one buffer that all connections share, which saves an allocation and the stream machinery with every read. Node
// does so for whoever asks with `onread` when a socket is made; accepted sockets and the TLS around them are made for us, so
// they are asked afterwards.

import { type Server, Socket } from "node:net"
import { READ_BUFFER } from "./read-buffer.js"

const ONREAD = onreadFields()

/** Whether this Node lets what a listening server accepts be read into the shared buffer. */
export function canShareReads(server: Server): boolean {
  // A listening handle is of the class of those it accepts.
  return ONREAD !== undefined && isHandle(Reflect.get(server, "_handle"))
}

/**
 * Tells what is read from now on, in the shared buffer; who asks later takes over from who asked before. False where that
 * is not possible. There is no way back: such a socket has no `data` events any more.
 */
export function readIntoShared(socket: Socket, onBytes: (bytes: Buffer, length: number) => void): boolean {
  if (ONREAD === undefined) return false
  if (Reflect.get(socket, ONREAD.buffer) !== READ_BUFFER && !giveBuffer(socket, ONREAD.buffer)) return false
  Reflect.set(socket, ONREAD.callback, (length: number): boolean => {
    onBytes(READ_BUFFER, length)
    return true
  })
  return true
}

function giveBuffer(socket: Socket, field: symbol): boolean {
  if (socket.destroyed || socket.readableEnded || socket.readableLength > 0) return false
  const handle: unknown = Reflect.get(socket, "_handle")
  // Fail closed: a handle that did not take the buffer would have us tell what somebody else's read left in it.
  if (!isHandle(handle) || handle.useUserBuffer(READ_BUFFER) !== 0) return false
  Reflect.set(socket, field, READ_BUFFER)
  return true
}

/** The names under which a socket keeps what `onread` told it; undefined where it does not keep it as it is. */
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
