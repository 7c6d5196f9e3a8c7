// SPDX-License-Identifier: Apache-2.0
//
// Responses while the store is unavailable: an error that nothing was done and when to retry, in the form that
// Kubernetes clients understand.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { loadCredentials } from "./auth/pki.js"
import { startCluster } from "./cluster.js"
import { openEtcdStore } from "./store/etcd/open.js"
import { EtcdProcess } from "./store/testing/etcd-process.js"
import { OracleClient } from "./testing/oracle/client.js"

it("asks clients to retry while etcd cannot be reached (needs etcd)", { tags: ["needs/etcd"] }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "store-away-"))
  const etcd = await EtcdProcess.start()
  const cluster = await startCluster({ dataDir, port: 0, store: await openEtcdStore({ endpoints: [etcd.endpoint] }) })
  const pki = await loadCredentials(join(dataDir, "pki"), [], Date.now())
  const { caCertificate: ca, adminCertificate: cert, adminKey: key } = pki
  const client = new OracleClient({ url: cluster.url, ca, cert, key })
  try {
    await etcd.kill()
    expect(await client.send({ method: "GET", path: "/api/v1/namespaces/default/configmaps" })).toMatchObject({
      status: 500,
      headers: { "retry-after": "2" },
      body: { kind: "Status", reason: "ServerTimeout", details: { retryAfterSeconds: 2 } },
    })
  } finally {
    client.close()
    await cluster.close()
    await etcd.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
