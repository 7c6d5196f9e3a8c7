// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that Node does not offer: how `malloc` treats large buffers and what it keeps, and where a redirected
// connection was going. They are called through koffi, whose binaries exist for some systems only. Where it cannot be loaded, the caller gets the
// reason and goes on without.

import { SocketAddress } from "node:net"

export interface Destination {
  readonly address: string
  readonly port: number
}

export interface Libc {
  /**
   * Buffers of more than `threshold` bytes get a mapping each, `most` of them at a time, and so go back to the system when they are
   * freed. False where the C library has no such setting: musl always works this way.
   */
  readonly mapLargeBuffers: (threshold: number, most: number) => boolean
  /**
   * Gives memory that `malloc` keeps for later back to the system, also between what is in use: a millisecond, and a fifth of one
   * for each MiB. Does nothing where the C library has no such function, as musl, which keeps little.
   */
  readonly trimHeap: () => void
  /** Where the caller of a redirected connection wanted to go; undefined where the kernel knows of no redirect. */
  readonly originalDestination: (fd: number, family: 4 | 6) => Destination | undefined
}

export interface Unavailable {
  readonly unavailable: string
}

// malloc.h of glibc.
const M_MMAP_THRESHOLD = -3
const M_MMAP_MAX = -4
// linux/netfilter_ipv4.h, linux/netfilter_ipv6/ip6_tables.h: the option has the same number in both.
const SO_ORIGINAL_DST = 80
const IPPROTO_IP = 0
const IPPROTO_IPV6 = 41
/** The size of `struct sockaddr_in6`; `sockaddr_in` is shorter and has its port at the same place. */
const SOCKADDR_BYTES = 28

type GetSockOpt = (fd: number, level: number, option: number, value: Buffer, length: Uint32Array) => number
type MallOpt = (parameter: number, value: number) => number
type MallocTrim = (pad: number) => number

let loaded: Promise<Libc | Unavailable> | undefined

export function loadLibc(): Promise<Libc | Unavailable> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<Libc | Unavailable> {
  if (process.platform !== "linux") return { unavailable: `not offered on ${process.platform}` }
  try {
    const { default: koffi } = await import("koffi")
    // No file: the symbols that this process has, whichever C library it runs on.
    const symbols = koffi.load(null)
    const getsockopt: GetSockOpt = symbols.func("int getsockopt(int, int, int, void *, void *)")
    const mallopt: MallOpt | undefined = find(symbols, "int mallopt(int, int)")
    const trim: MallocTrim | undefined = find(symbols, "int malloc_trim(size_t)")
    return {
      mapLargeBuffers: (threshold, most) =>
        mallopt !== undefined && mallopt(M_MMAP_THRESHOLD, threshold) === 1 && mallopt(M_MMAP_MAX, most) === 1,
      trimHeap: () => void trim?.(0),
      originalDestination: (fd, family) => originalDestination(getsockopt, fd, family),
    }
  } catch (error) {
    return { unavailable: error instanceof Error ? error.message : String(error) }
  }
}

function find<F>(symbols: { readonly func: (definition: string) => F }, definition: string): F | undefined {
  try {
    return symbols.func(definition)
  } catch {
    // musl has neither.
    return undefined
  }
}

function originalDestination(getsockopt: GetSockOpt, fd: number, family: 4 | 6): Destination | undefined {
  const value = Buffer.alloc(SOCKADDR_BYTES)
  const level = family === 4 ? IPPROTO_IP : IPPROTO_IPV6
  if (getsockopt(fd, level, SO_ORIGINAL_DST, value, Uint32Array.of(SOCKADDR_BYTES)) !== 0) return undefined
  const port = value.readUInt16BE(2)
  if (family === 4) return { address: value.subarray(4, 8).join("."), port }
  const groups = Array.from({ length: 8 }, (_, index) => value.readUInt16BE(8 + 2 * index).toString(16))
  // As Node writes the addresses of sockets.
  return { address: new SocketAddress({ family: "ipv6", address: groups.join(":") }).address, port }
}
