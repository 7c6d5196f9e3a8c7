// SPDX-License-Identifier: Apache-2.0
// Finds the application ports that accept connections at addresses other than loopback, and so bypass the proxy, in the
// kernel's list of sockets (`/proc/net/tcp`, `/proc/net/tcp6`). Outside of a Pod nothing redirects such connections to
// the proxy.

import { open } from "node:fs/promises"
import { SocketAddress } from "node:net"
import type { ApplicationPort } from "../config/application-port.js"

const LISTEN = "0A"
const FILES = ["/proc/net/tcp", "/proc/net/tcp6"]
/** The kernel lists listening sockets before all others. */
const MAX_BYTES = 1 << 20

interface Listening {
  readonly address: string
  readonly port: number
  readonly uid: string
}

/** Empty if the system has no such list: nothing is reported that was not observed. */
export async function exposedPorts(ports: readonly ApplicationPort[]): Promise<readonly number[]> {
  const lists = await Promise.all(FILES.map(file => readStart(file).catch(() => "")))
  return exposedIn(lists.join("\n"), ports)
}

/**
 * A socket that is bound to the exact address at which the proxy reaches the application belongs to the application,
 * and so do other sockets of the same user on this port: an application may listen on loopback and on all addresses
 * (`SO_REUSEPORT`, or one socket per IP version). If there is no such socket, the application is the socket that
 * listens on all addresses.
 */
export function exposedIn(sockets: string, ports: readonly ApplicationPort[]): readonly number[] {
  const listening = sockets.split("\n").flatMap(line => listeningSocket(line) ?? [])
  // The proxy itself may listen there, at another address than the application.
  const isOwn = ({ address, port }: Listening): boolean =>
    ports.some(({ listen }) => listen.port === port && (isAny(address) ? isAny(listen.host) : address === listen.host))
  return ports
    .filter(({ upstream }) => {
      const there = listening.filter(socket => socket.port === upstream.port && !isOwn(socket))
      const bound = there.find(({ address }) => isBoundTo(address, upstream.host))
      if (bound === undefined) return there.some(({ address }) => isAny(address))
      return there.some(({ address, uid }) => uid === bound.uid && !isLoopback(address))
    })
    .map(({ port }) => port)
}

function listeningSocket(line: string): Listening | undefined {
  const [, local = "", , state, , , , uid = ""] = line.trim().split(/\s+/)
  if (state !== LISTEN || !/^([0-9A-F]{8}|[0-9A-F]{32}):[0-9A-F]{4}$/.test(local)) return undefined
  const [address = "", port = ""] = local.split(":")
  return { address: addressText(address), port: Number.parseInt(port, 16), uid }
}

/** Converts the kernel's format, in which an address is a sequence of little-endian words. */
function addressText(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32()
  if (bytes.length === 4) return bytes.join(".")
  const groups = (bytes.toString("hex").match(/.{4}/g) ?? []).join(":")
  return new SocketAddress({ family: "ipv6", address: groups }).address.replace(/^::ffff:(?=\d+\.)/, "")
}

const isAny = (address: string): boolean => address === "0.0.0.0" || address === "::"
const isLoopback = (address: string): boolean => address.startsWith("127.") || address === "::1"

/** Whether a socket at this address is bound to the configured host. */
function isBoundTo(address: string, host: string): boolean {
  return host === "localhost" ? address === "127.0.0.1" || address === "::1" : address === host
}

async function readStart(file: string): Promise<string> {
  const handle = await open(file)
  try {
    const buffer = Buffer.alloc(MAX_BYTES)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length)
      length += bytesRead
      if (bytesRead === 0 || length === buffer.length) return buffer.toString("latin1", 0, length)
    }
  } finally {
    await handle.close()
  }
}
