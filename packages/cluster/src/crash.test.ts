// SPDX-License-Identifier: Apache-2.0
//
// A writer notes what was acknowledged while the server is killed without warning again and again. After each restart
// every acknowledged write is there, revisions never go back, and a watcher that resumes misses nothing.
// `CRASHES` says how often; the full proof is 50.

import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, beforeAll, expect, it } from "vitest"
import { loadPapers } from "./auth/pki.js"
import { OracleClient } from "./testing/oracle/client.js"
import { asArray, asString, dig, type Json } from "./value.js"

const CRASHES = Number(process.env.CRASHES ?? "5")
const maps = "/api/v1/namespaces/default/configmaps"
let folder: string
let server: ChildProcess | undefined
let url = ""

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "crash-"))
})

afterAll(async () => {
  server?.kill("SIGKILL")
  await rm(folder, { recursive: true, force: true })
})

/** Another process, so that it can be killed. */
async function start(): Promise<OracleClient> {
  const port = url === "" ? "0" : new URL(url).port
  const child = spawn(
    process.execPath,
    ["--import", "tsx", join(import.meta.dirname, "main.ts"), "--data", folder, "--port", port],
    { stdio: ["ignore", "pipe", "inherit"] },
  )
  server = child
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve)
    child.once("exit", code => reject(new Error(`the server ended with ${code}`)))
  })
  url = asString(dig(JSON.parse(line) as Json, "url"))
  const papers = await loadPapers(join(folder, "pki"), [], Date.now())
  return new OracleClient({ url, ca: papers.caCertificate, cert: papers.adminCertificate, key: papers.adminKey })
}

async function kill(): Promise<void> {
  const child = server
  if (child === undefined) return
  const gone = new Promise(resolve => child.once("exit", resolve))
  child.kill("SIGKILL")
  await gone
}

it(
  `loses nothing acknowledged in ${CRASHES} crashes`,
  async () => {
    const acknowledged = new Map<string, number>()
    const seen = new Set<string>()
    let newest = 0
    let next = 0
    let watchedFrom = "0"
    for (let crash = 0; crash < CRASHES; crash++) {
      const client = await start()
      // Everything that was promised is there, with the revision that was promised.
      const listed = await client.send({ method: "GET", path: maps })
      const revision = Number(asString(dig(listed.body, "metadata", "resourceVersion")))
      expect(revision).toBeGreaterThanOrEqual(newest)
      const stored = new Map(
        asArray(dig(listed.body, "items")).map(item => [
          asString(dig(item, "metadata", "name")),
          Number(asString(dig(item, "metadata", "resourceVersion"))),
        ]),
      )
      for (const [name, version] of acknowledged) expect(stored.get(name), name).toBe(version)
      // The watcher goes on where it was and sees all that happened since.
      const watched = await client.send({
        method: "GET",
        path: maps,
        query: { watch: "1", resourceVersion: watchedFrom, timeoutSeconds: "1" },
        stream: true,
      })
      for (const event of asArray(watched.body)) {
        expect(dig(event, "type")).toBe("ADDED")
        const name = asString(dig(event, "object", "metadata", "name"))
        expect(seen.has(name), `${name} twice`).toBe(false)
        seen.add(name)
        // The first events come by name, not by revision.
        const version = Number(asString(dig(event, "object", "metadata", "resourceVersion")))
        watchedFrom = `${Math.max(Number(watchedFrom), version)}`
      }
      expect([...stored.keys()].filter(name => !seen.has(name))).toEqual([])
      let writing = true
      const writer = async (): Promise<void> => {
        while (writing) {
          const name = `w${next++}`
          try {
            const { status, body } = await client.send({ method: "POST", path: maps, body: { metadata: { name } } })
            if (status !== 201) continue
            const version = Number(asString(dig(body, "metadata", "resourceVersion")))
            acknowledged.set(name, version)
            newest = Math.max(newest, version)
          } catch {
            // The connection broke: this write was not acknowledged and may or may not be there.
            return
          }
        }
      }
      const writers = [writer(), writer(), writer(), writer()]
      await new Promise(resolve => setTimeout(resolve, 100 + Math.random() * 400))
      await kill()
      writing = false
      await Promise.all(writers)
      client.close()
    }
    expect(acknowledged.size).toBeGreaterThan(CRASHES)
    expect((await readFile(join(folder, "kubeconfig"), "utf8")).length).toBeGreaterThan(0)
  },
  CRASHES * 20_000 + 30_000,
)
