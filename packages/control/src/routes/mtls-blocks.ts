// SPDX-License-Identifier: Apache-2.0
// Addresses as a short list of CIDR blocks. Every captured workload gets the list, and gets it again when it changes,
// so it must neither grow with the number of Pods nor change with each of them.

import { parseIp } from "@merlon/policy/request"
import { MAX_MTLS_BLOCKS } from "@merlon/xds"

/** The block that Kubernetes assigns to a node by default: its addresses belong to Pods. */
const POD_BLOCK = { 4: "/24", 6: "/64" } as const
/** A block with at least this many addresses is listed as a whole. */
const DENSE = 8
/** Fail closed: if there are too many blocks to list, every address counts. */
const EVERYTHING = ["0.0.0.0/0", "::/0"]

/**
 * `services` are listed one by one, since their addresses rarely change. Sorted, so that all replicas give the same
 * list.
 */
export function mtlsBlocks(services: Iterable<string>, pods: Iterable<string>): readonly string[] {
  const blocks = new Set(services)
  const byBlock = new Map<string, Set<string>>()
  for (const address of pods) {
    const block = podBlock(address)
    if (block === undefined) continue
    const addresses = byBlock.get(block) ?? new Set()
    byBlock.set(block, addresses.add(address))
  }
  for (const [block, addresses] of byBlock) {
    if (addresses.size >= DENSE) blocks.add(block)
    else for (const address of addresses) blocks.add(address)
  }
  return blocks.size > MAX_MTLS_BLOCKS ? EVERYTHING : [...blocks].sort()
}

function podBlock(address: string): string | undefined {
  const parsed = parseIp(address)
  if (parsed === undefined) return undefined
  const [first, second, , last] = parsed.words
  const octets = [last >>> 24, (last >>> 16) & 0xff, (last >>> 8) & 0xff, 0].join(".")
  const groups = [first >>> 16, first & 0xffff, second >>> 16, second & 0xffff].map(group => group.toString(16))
  return `${parsed.family === 4 ? octets : `${groups.join(":")}::`}${POD_BLOCK[parsed.family]}`
}
