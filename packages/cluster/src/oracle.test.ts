// SPDX-License-Identifier: Apache-2.0
//
// Compares this server with the recorded responses of a real kube-apiserver: every case, over TLS, including headers
// and managed fields. Deliberate differences are listed with a reason. A listed case must still fail; otherwise its
// entry is outdated.

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
/**
 * Time does not advance within a case: the order of managedFields depends on whole seconds, and the recorded cases were
 * fast.
 */
let time = Date.now()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "oracle-"))
  const pki = join(folder, "cluster", "pki")
  // The recorded server had an RSA key; this server would generate another type.
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
