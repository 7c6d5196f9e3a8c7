// SPDX-License-Identifier: Apache-2.0
// Limits the memory that a proxy's process keeps. Large buffers are returned to the system when freed, and a collection
// runs after load although nothing new is allocated: after two floods of 3,000 connections with 60 KB each, an idle proxy
// used 77 MB with this collection and 272 without (Node 20), 87 and 121 on Node 24. Objects live as long as a request, so
// the young generation of the heap need not grow: V8 would let it take twice 16 MiB (twice 64 since Node 24). Twenty busy
// connections save 4 to 7 MB by that.

import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { mapLargeBuffers, PROXY_BUFFERS } from "@merlon/wire/native"

const LOOK_MS = 30_000
/** Buffers beyond those that the last collection left. V8 collects by itself when a busy process allocates; an idle one keeps them. */
const WORTH_COLLECTING = 32 << 20
/** Of one core. A collection takes tens of milliseconds, which delays no request at such a low load. */
const IDLE_SHARE = 0.05

/** Called before anything else is allocated. Resolves to the reason where memory taken under load may be kept. */
export function keepMemorySmall(lookMs = LOOK_MS): Promise<string | undefined> {
  setFlagsFromString("--semi-space-growth-factor=1")
  collectWhenIdle(lookMs)
  return mapLargeBuffers(PROXY_BUFFERS)
}

function collectWhenIdle(lookMs: number): void {
  let left = 0
  let before = process.cpuUsage()
  setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    if (user + system > IDLE_SHARE * lookMs * 1_000) return
    if (process.memoryUsage().arrayBuffers < left + WORTH_COLLECTING) return
    collect()
    left = process.memoryUsage().arrayBuffers
  }, lookMs).unref()
}

function collect(): void {
  setFlagsFromString("--expose-gc")
  // Once more for buffers whose owners the first collection found.
  runInNewContext("gc(); gc()")
  setFlagsFromString("--no-expose-gc")
}
