// SPDX-License-Identifier: Apache-2.0
// Every store that the behavioural suite tests, with one interface to open, reopen and remove it.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ClassicLevel } from "classic-level"
import { openEmbeddedStore } from "../embedded/open.js"
import { openEtcdStore } from "../etcd/open.js"
import type { Store } from "../store.js"
import { EtcdProcess } from "./etcd-process.js"

/** A place for one store's data. */
export interface Place {
  open(): Promise<Store>
  /** Makes the data look as if another version had written it. */
  setFormat(format: number): Promise<void>
  remove(): Promise<void>
}

export interface Engine {
  readonly name: string
  /** The required programs, as tags of the tests. */
  readonly tags: readonly string[]
  start(): Promise<void>
  stop(): Promise<void>
  /** Creates an empty place, separate from all others. */
  place(): Promise<Place>
}

const embedded: Engine = {
  name: "embedded",
  tags: [],
  start: async () => undefined,
  stop: async () => undefined,
  place: async () => {
    const folder = mkdtempSync(join(tmpdir(), "merlon-store-"))
    return {
      open: () => openEmbeddedStore(folder),
      setFormat: async format => {
        const db = new ClassicLevel<string, string>(folder)
        await db.put("m", JSON.stringify({ format, revision: 1, compacted: 0 }))
        await db.close()
      },
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
}

function etcd(): Engine {
  let server: EtcdProcess | undefined
  let places = 0
  return {
    name: "etcd",
    tags: ["needs/etcd"],
    start: async () => {
      server = await EtcdProcess.start()
    },
    stop: async () => {
      await server?.stop()
    },
    place: async () => {
      if (server === undefined) throw new Error("etcd is not started")
      const running = server
      // One etcd with a prefix per place: the tests also cover other clients that write to the same etcd.
      const prefix = `/merlon-test-${++places}`
      return {
        open: () => openEtcdStore({ endpoints: [running.endpoint], prefix }),
        setFormat: format => running.put(`${prefix}/format`, `${format}`),
        remove: async () => undefined,
      }
    },
  }
}

export const engines: readonly Engine[] = [embedded, etcd()]
