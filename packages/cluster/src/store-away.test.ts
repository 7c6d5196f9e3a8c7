// SPDX-License-Identifier: Apache-2.0
//
// What callers hear while the store is away: that nothing was done and when to come again, as clients of Kubernetes understand it.

import { mkdtemp, rm } from "node:fs/promises"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { loadCredentials } from "./auth/pki.js"
import { startCluster } from "./cluster.js"
import { openEtcdStore } from "./store/etcd/open.js"
import { EtcdProcess, etcdAvailable } from "./store/testing/etcd-process.js"

it.skipIf(!etcdAvailable())("says to come again while etcd cannot be reached (needs etcd)", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "store-away-"))
  const etcd = await EtcdProcess.start()
  const cluster = await startCluster({ dataDir, port: 0, store: await openEtcdStore({ endpoints: [etcd.endpoint] }) })
  try {
    const {
      caCertificate: ca,
      adminCertificate: cert,
      adminKey: key,
    } = await loadCredentials(join(dataDir, "pki"), [], Date.now())
    await etcd.kill()
    const answer = await new Promise<{ status: number; after: unknown; body: unknown }>((resolve, reject) => {
      const asked = request(`${cluster.url}/api/v1/namespaces/default/configmaps`, { ca, cert, key }, response => {
        let text = ""
        response.on("data", (chunk: Buffer) => (text += chunk.toString()))
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            after: response.headers["retry-after"],
            body: JSON.parse(text),
          }),
        )
      })
      asked.on("error", reject)
      asked.end()
    })
    expect(answer).toMatchObject({
      status: 500,
      after: "2",
      body: { kind: "Status", reason: "ServerTimeout", details: { retryAfterSeconds: 2 } },
    })
  } finally {
    await cluster.close()
    await etcd.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
