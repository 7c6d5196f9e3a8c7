// SPDX-License-Identifier: Apache-2.0
//
// Stores under SIGKILL: writers and a watcher run while the process is killed again and again. After every restart the
// acknowledged writes are there, the revision has not gone back, and the watcher continues without loss or repetition.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { EtcdProcess } from "../../packages/cluster/src/store/testing/etcd-process.js"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { bundle } from "./support/bundle.js"
import { Ledger } from "./support/ledger.js"
import { KILLS, LIMIT_MS, roundsOf } from "./support/rounds.js"
import { Died, StoreClient, StoreFailure, storeServer } from "./support/store-client.js"
import type { Place } from "./support/store-server.js"

const WRITERS = 6
const KEYS_PER_WRITER = 5
const ROUND_MS = 60
/** On a busy machine etcd may be slow, and a store must not give up on it. */
const PATIENCE_MS = 120_000

describe("a store whose process is killed", () => {
  it(
    "loses nothing it acknowledged, however often (embedded)",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "merlon-crash-"))
      await crash({ folder }, async client => client.kill())
      rmSync(folder, { recursive: true, force: true })
    },
    LIMIT_MS,
  )

  it("loses nothing it acknowledged, however often it, etcd or both are (needs etcd)", {
    tags: ["needs/etcd"],
    timeout: LIMIT_MS,
  }, async () => {
    const etcd = await EtcdProcess.start()
    try {
      await crash({ endpoint: etcd.endpoint, timeoutMs: PATIENCE_MS }, async (client, round) => {
        if (round % 3 > 0) await etcd.kill()
        // In every third round the store outlives its etcd and must report correctly which writes it knows of.
        if (round % 3 === 1) await pause(ROUND_MS)
        await client.kill()
        if (round % 3 > 0) await etcd.launch()
      })
    } finally {
      await etcd.stop()
    }
  })
})

async function crash(place: Place, strike: (client: StoreClient, round: number) => Promise<void>): Promise<void> {
  let ledger: Ledger | undefined
  // Loaded while its predecessor still works, so that a round does not include the start-up.
  const program = await bundle(storeServer)
  let standby = new StoreClient(program)
  let played = 0
  for (const round of roundsOf(KILLS)) {
    const client = standby
    const { revision } = await client.call<{ revision: number }>({ do: "open", place })
    ledger ??= new Ledger(revision, true)
    const book = ledger
    client.listener = event => book.see(event)
    await client.call({ do: "watch", prefix: "/w/", after: book.lastSeen })
    const found = await client.call<{ revision: number; entries: [string, string][] }>({ do: "range", prefix: "/w/" })
    book.check(new Map(found.entries), found.revision)
    standby = new StoreClient(program)
    const before = book.acknowledgements
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(client, book, writer, round))
    if (round % 10 === 9) await client.call({ do: "compact", revision: Math.max(1, book.lastSeen - 100) })
    // Killed in the middle of work, not before it has begun.
    await eventually(() => book.acknowledgements > before + WRITERS, { what: "every writer has an acknowledgement" })
    await pause(ROUND_MS * Math.random())
    await strike(client, round)
    await Promise.all(writers)
    played++
  }
  await standby.kill()
  expect(ledger?.acknowledgements).toBeGreaterThan(played * WRITERS)
}

async function write(client: StoreClient, ledger: Ledger, writer: number, round: number): Promise<void> {
  for (let n = 0; ; n++) {
    const id = `${writer}.${round}.${n}`
    const key = `/w/${writer}/${n % KEYS_PER_WRITER}`
    // Deleting a missing key is no change, so only a key that was just written is deleted.
    const deletes = n % 7 === 6
    const target = deletes ? `/w/${writer}/${(n - 1) % KEYS_PER_WRITER}` : key
    ledger.ask(id, target, deletes)
    try {
      const value = JSON.stringify({ id, padding: "x".repeat(200) })
      const { revision } = await client.call<{ revision: number }>({
        do: "commit",
        writes: [deletes ? { key: target, delete: true } : { key, value }],
      })
      ledger.acknowledge(id, revision)
    } catch (error) {
      if (error instanceof Died) return
      if (!(error instanceof StoreFailure)) throw error
      if (error.code === "store-unreachable") ledger.reject(id)
      // After an uncertain result the next deletion might hit a missing key: start over.
      n = -1
      round += 0.001
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
