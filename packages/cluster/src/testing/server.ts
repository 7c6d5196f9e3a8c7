// SPDX-License-Identifier: Apache-2.0
// A cluster in a temporary folder with a client, for tests over real connections.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Credentials, loadCredentials } from "../auth/pki.js"
import { type Cluster, type ClusterOptions, startCluster } from "../cluster.js"
import { asString, dig, type Json } from "../value.js"
import type { OracleRequest } from "./oracle/case.js"
import { type Answer, OracleClient } from "./oracle/client.js"

export type Method = OracleRequest["method"]

export interface TestServer {
  readonly cluster: Cluster
  readonly credentials: Credentials
  readonly client: OracleClient
  readonly folder: string
  /** Sends a request as the administrator; the path may have a query. */
  readonly admin: (method: Method, path: string, body?: Json, type?: string) => Promise<Answer>
  close(): Promise<void>
}

export async function startTestServer(options: Omit<ClusterOptions, "dataDir" | "port"> = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "cluster-"))
  const dataDir = join(folder, "cluster")
  const cluster = await startCluster({ ...options, dataDir, port: 0 })
  const credentials = await loadCredentials(join(dataDir, "pki"), [], Date.now())
  const client = new OracleClient({
    ...{ url: cluster.url, ca: credentials.caCertificate },
    ...{ cert: credentials.adminCertificate, key: credentials.adminKey },
  })
  return {
    ...{ cluster, credentials, client, folder },
    admin: (method, path, body, type) => {
      const [place = path, query = ""] = path.split("?")
      return client.send({
        ...{ method, path: place, query: Object.fromEntries(new URLSearchParams(query)) },
        ...(body === undefined ? {} : { body }),
        ...(type === undefined ? {} : { headers: { "Content-Type": type } }),
      })
    },
    async close() {
      client.close()
      await cluster.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export const message = (answer: Answer): string => asString(dig(answer.body, "message"))
