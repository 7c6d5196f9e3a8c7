// SPDX-License-Identifier: Apache-2.0
//
// What a real kube-apiserver answered, recorded, against this server: every case, over TLS, headers and managed fields
// included. Deliberate differences are named with a reason; a case on that list must still fail, or the list is stale.

import { generateKeyPairSync } from "node:crypto"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Credentials, loadCredentials } from "./auth/pki.js"
import { type Cluster, startCluster } from "./cluster.js"
import { loadDifferences, loadThemes } from "./testing/oracle/case.js"
import { OracleClient } from "./testing/oracle/client.js"
import { installFixtures, type Replay, runCase } from "./testing/oracle/runner.js"
import { OracleWebhooks } from "./testing/oracle/webhooks.js"

const differences = loadDifferences()
let folder: string
let cluster: Cluster
let replay: Replay
/** Time stands still within a case: the order of managedFields depends on whole seconds, and the recording was quick. */
let time = Date.now()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "oracle-"))
  const pki = join(folder, "cluster", "pki")
  // As the recorded server had; ours makes another kind.
  await mkdir(pki, { recursive: true })
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  await writeFile(join(pki, "service-accounts.key"), privateKey.export({ type: "pkcs8", format: "pem" }))
  cluster = await startCluster({ dataDir: join(folder, "cluster"), port: 0, clock: () => time })
  const own: Credentials = await loadCredentials(pki, [], Date.now())
  const hooks = await loadCredentials(join(folder, "webhooks"), [], Date.now())
  const client = new OracleClient({
    url: cluster.url,
    ca: own.caCertificate,
    cert: own.adminCertificate,
    key: own.adminKey,
  })
  const webhooks = new OracleWebhooks(hooks.serverCertificate, hooks.serverKey)
  await webhooks.start()
  replay = {
    client,
    webhooks,
    caBundle: Buffer.from(hooks.caCertificate).toString("base64"),
    compact: () => cluster.compact(),
  }
  await installFixtures(replay)
})

afterAll(async () => {
  replay.client.close()
  await replay.webhooks.close()
  await cluster.close()
  await rm(folder, { recursive: true, force: true })
})

for (const [theme, cases] of loadThemes())
  describe(theme, () => {
    for (const oracle of cases) {
      const reason = differences[`${theme}: ${oracle.name}`]
      if (reason === undefined)
        it(oracle.name, async () => {
          time = Date.now()
          expect(await runCase(oracle, replay)).toEqual([])
        })
      else
        it(`differs on purpose: ${oracle.name}`, async () => {
          expect(await runCase(oracle, replay)).not.toEqual([])
        })
    }
  })
