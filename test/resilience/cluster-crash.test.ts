// SPDX-License-Identifier: Apache-2.0
//
// The API server under SIGKILL, as clients see it: writers and a watcher over HTTPS while the process is killed again
// and again. Every acknowledged write is there, the revision never goes back, and the watcher resumes without loss or
// repetition. On the embedded store, on etcd, and on etcd with two servers of which one is killed while the other
// continues.

import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { EtcdProcess } from "../../packages/cluster/src/store/testing/etcd-process.js"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { bundle } from "./support/bundle.js"
import { ClusterProcess, clusterServer } from "./support/cluster-process.js"
import { ConfigMapWriter, check, follow, NAMESPACE } from "./support/config-map-writer.js"
import { Ledger } from "./support/ledger.js"
import { KILLS, LIMIT_MS, roundsOf } from "./support/rounds.js"

const WRITERS = 6
const ROUND_MS = 60
/**
 * Each server is killed at least twice. A round starts a whole API server, so there are fewer rounds than for the store
 * alone.
 */
const ROUNDS = { ...KILLS, least: 4, budgetMs: KILLS.budgetMs / 2 }

const processes: ClusterProcess[] = []

function spawnServer(program: string): ClusterProcess {
  const process = new ClusterProcess(program)
  processes.push(process)
  return process
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

describe("an API server that is killed", () => {
  let program: string
  let folder: string
  let etcd: EtcdProcess | undefined

  beforeAll(async () => {
    program = await bundle(clusterServer)
  })
  afterEach(async () => {
    // Nothing may be left running, even after a failure.
    for (const process of processes.splice(0)) await process.kill()
    await etcd?.stop()
    etcd = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  it(
    "loses nothing it acknowledged, however often (embedded)",
    async () => {
      folder = mkdtempSync(join(tmpdir(), "merlon-crash-"))
      await oneServer(program, { dataDir: join(folder, "data") })
    },
    LIMIT_MS,
  )

  it("loses nothing it acknowledged, however often (needs etcd)", {
    tags: ["needs/etcd"],
    timeout: LIMIT_MS,
  }, async () => {
    folder = mkdtempSync(join(tmpdir(), "merlon-crash-"))
    etcd = await EtcdProcess.start()
    await oneServer(program, { dataDir: join(folder, "data"), etcd: etcd.endpoint })
  })

  it("is replaced by the other one at once, with nothing lost (two servers; needs etcd)", {
    tags: ["needs/etcd"],
    timeout: LIMIT_MS,
  }, async () => {
    folder = mkdtempSync(join(tmpdir(), "merlon-crash-"))
    etcd = await EtcdProcess.start()
    await twoServers(program, folder, etcd.endpoint)
  })
})

async function firstStart(server: ClusterProcess): Promise<Ledger> {
  const made = await server.ask("POST", "/api/v1/namespaces", { metadata: { name: NAMESPACE } })
  expect(made.status).toBe(201)
  return new Ledger(Number(made.body.metadata?.resourceVersion), false)
}

async function oneServer(program: string, order: { dataDir: string; etcd?: string }): Promise<void> {
  let ledger: Ledger | undefined
  let standby = spawnServer(program)
  let kills = 0
  for (const round of roundsOf(ROUNDS)) {
    const server = standby
    await server.serve(order)
    ledger ??= await firstStart(server)
    const book = ledger
    const watch = await follow(server, book)
    const marker = await new ConfigMapWriter(book, 1_000 + round).mark(server)
    await eventually(() => book.lastSeen >= marker, { what: "the book has seen the marker" })
    await check(server, book)
    standby = spawnServer(program)
    kills = round
    let going = true
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      new ConfigMapWriter(book, n).run(
        () => [server],
        () => going,
      ),
    )
    const before = book.acknowledgements
    await eventually(() => book.acknowledgements > before + WRITERS, { what: "every writer has an acknowledgement" })
    await pause(ROUND_MS * Math.random())
    await server.kill()
    going = false
    await Promise.all([...writers, watch.ended])
  }
  expect(ledger?.acknowledgements).toBeGreaterThan(kills * WRITERS)
}

async function twoServers(program: string, folder: string, etcd: string): Promise<void> {
  const folders = ["one", "two"].map(name => join(folder, name))
  const start = async (which: number, process: ClusterProcess): Promise<ClusterProcess> => {
    await process.serve({ dataDir: folders[which] ?? "", etcd })
    return process
  }
  let survivor = await start(0, spawnServer(program))
  // Servers of one cluster have the same credentials.
  cpSync(join(folders[0] ?? "", "pki"), join(folders[1] ?? "", "pki"), { recursive: true })
  let other = await start(1, spawnServer(program))
  const ledger = await firstStart(survivor)
  let watch = await follow(other, ledger)
  for (const round of roundsOf({ ...ROUNDS, most: 20 })) {
    const standby = spawnServer(program)
    let up: readonly ClusterProcess[] = [survivor, other]
    let going = true
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      new ConfigMapWriter(ledger, n).run(
        () => up,
        () => going,
      ),
    )
    const sofar = ledger.acknowledgements
    await eventually(() => ledger.acknowledgements > sofar + WRITERS, { what: "every writer has an acknowledgement" })
    await pause(ROUND_MS * Math.random())
    // The watcher's server is killed; it resumes on the other one.
    await other.kill()
    await watch.ended
    up = [survivor]
    watch = await follow(survivor, ledger)
    const before = ledger.acknowledgements
    await eventually(() => ledger.acknowledgements > before + WRITERS, { what: "every writer has an acknowledgement" })
    going = false
    await Promise.all(writers)
    const marker = await new ConfigMapWriter(ledger, 1_000 + round).mark(survivor)
    await eventually(() => ledger.lastSeen >= marker, { what: "the ledger has seen the marker" })
    await check(survivor, ledger)
    const restarted = await start((round + 1) % 2, standby)
    other = survivor
    survivor = restarted
  }
  await Promise.all([survivor.kill(), other.kill()])
}
