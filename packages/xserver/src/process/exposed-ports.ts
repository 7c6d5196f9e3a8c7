// SPDX-License-Identifier: Apache-2.0
// Which ports of the application answer at other addresses than loopback, and so past the proxy, by the kernel's list of
// sockets (`/proc/net/tcp`, `/proc/net/tcp6`). Outside of a Pod nothing leads such connections to the proxy.

import { open } from "node:fs/promises"
import type { ApplicationPort } from "../config/application-port.js"

const LISTEN = "0A"
const FILES = ["/proc/net/tcp", "/proc/net/tcp6"]
/** The kernel lists listening sockets before all others. */
const MAX_BYTES = 1 << 20

interface Listening {
  readonly address: string
  readonly port: number
}

/** None where the system has no such list: what cannot be seen is not claimed. */
export async function exposedPorts(ports: readonly ApplicationPort[]): Promise<readonly number[]> {
  const lists = await Promise.all(FILES.map(file => readStart(file).catch(() => "")))
  return exposedIn(lists.join("\n"), ports)
}

/**
 * The socket that is bound to the very address at which the proxy calls the application is the application's. Without one,
 * the application is the socket that listens on all addresses.
 */
export function exposedIn(sockets: string, ports: readonly ApplicationPort[]): readonly number[] {
  const listening = sockets.split("\n").flatMap(line => listeningSocket(line) ?? [])
  const own = new Set(ports.map(({ listen }) => listen.port))
  return ports
    .filter(({ upstream }) => {
      // The proxy itself may listen there, at another address than the application.
      if (own.has(upstream.port)) return false
      const there = listening.filter(({ port }) => port === upstream.port)
      const bound = there.some(({ address }) => address === hexOf(upstream.host))
      return bound ? !isLoopback(upstream.host) : there.some(({ address }) => /^0+$/.test(address))
    })
    .map(({ port }) => port)
}

function listeningSocket(line: string): Listening | undefined {
  const [, local = "", , state] = line.trim().split(/\s+/)
  const [address = "", port = ""] = local.split(":")
  return state === LISTEN ? { address, port: Number.parseInt(port, 16) } : undefined
}

/** As the kernel prints an IPv4 address: the bytes of a little-endian word. */
function hexOf(host: string): string {
  return host
    .split(".")
    .map(part => Number(part).toString(16).padStart(2, "0").toUpperCase())
    .reverse()
    .join("")
}

function isLoopback(host: string): boolean {
  return host.startsWith("127.") || host === "::1" || host === "localhost"
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
