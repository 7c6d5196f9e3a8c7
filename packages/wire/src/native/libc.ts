// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that Node lacks: how `malloc` treats large buffers and free memory, and the original
// destination of a redirected connection. They are called through koffi, whose binaries exist only for some systems. If
// it cannot be loaded, the caller gets the reason and continues without it.

import { SocketAddress } from "node:net"

export interface Destination {
  readonly address: string
  readonly port: number
}

export interface Libc {
  /**
   * Gives buffers of more than `threshold` bytes their own mappings, at most `most` at a time, so that they return to
   * the system when they are freed. False if the C library has no such setting: musl always works this way.
   */
  readonly mapLargeBuffers: (threshold: number, most: number) => boolean
  /**
   * Returns free memory that `malloc` keeps to the system, even between used blocks. This takes a millisecond, plus a
   * fifth of a millisecond per MiB. Does nothing if the C library has no such function, such as musl, which keeps
   * little.
   */
  readonly trimHeap: () => void
  /** The original destination of a redirected connection; undefined if the kernel knows of no redirect. */
  readonly originalDestination: (fd: number, family: 4 | 6) => Destination | undefined
}

export interface Unavailable {
  readonly unavailable: string
}

// From glibc's malloc.h.
const M_MMAP_THRESHOLD = -3
const M_MMAP_MAX = -4
// From linux/netfilter_ipv4.h and linux/netfilter_ipv6/ip6_tables.h: the option has the same number in both.
const SO_ORIGINAL_DST = 80
const IPPROTO_IP = 0
const IPPROTO_IPV6 = 41
/** The size of `struct sockaddr_in6`; `sockaddr_in` is shorter and has its port at the same offset. */
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
    // Without a file: the symbols that this process has, with any C library.
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
    // musl has neither function.
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
  // The same format as Node's socket addresses.
  return { address: new SocketAddress({ family: "ipv6", address: groups.join(":") }).address, port }
}
