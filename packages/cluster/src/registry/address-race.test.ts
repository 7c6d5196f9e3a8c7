// SPDX-License-Identifier: Apache-2.0
//
// Two servers on one store both find an address free: only one of them gets it.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { bootstrap } from "../bootstrap.js"
import { openEmbeddedStore } from "../store/embedded/open.js"
import type { Store } from "../store/store.js"
import type { JsonObject } from "../value.js"
import { Catalog } from "./catalog.js"
import type { RequestContext } from "./context.js"
import { Registry } from "./registry.js"
import type { Admission } from "./write-pipeline.js"

let folder: string
let store: Store

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "addresses-"))
  store = await openEmbeddedStore(join(folder, "store"))
})

afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

/** Blocks writes until all writers have read the addresses in use. Retries are not blocked. */
function afterAllLooked(count: number): Admission {
  let waiting = 0
  let release = (): void => undefined
  const looked = new Promise<void>(resolve => (release = resolve))
  return {
    authorizeCreate: () => Promise.resolve(),
    mutate: (_, { object }) => Promise.resolve(object ?? {}),
    validate: () => {
      if (++waiting >= count) release()
      return looked
    },
  }
}

const context: RequestContext = {
  user: { name: "admin", uid: "", groups: ["system:masters"], extra: {} },
  namespace: "default",
  name: "",
  subresource: "",
  dryRun: false,
  fieldManager: "test",
  fieldValidation: "Strict",
  warn: () => undefined,
  now: Date.now,
  signal: undefined,
}

it.each([
  ["cluster IP", "ip", { clusterIP: "10.0.9.9", ports: [{ port: 80 }] }, "provided IP is already allocated"],
  [
    "node port",
    "port",
    { type: "NodePort", ports: [{ port: 80, nodePort: 31999 }] },
    "provided port is already allocated",
  ],
])("allocates one %s to one Service", async (_, prefix, spec: JsonObject, rejection) => {
  const catalog = new Catalog()
  const admission = afterAllLooked(2)
  const servers = [1, 2].map(() => new Registry(store, catalog, admission, Date.now))
  for (const server of servers) await bootstrap(server)
  const services = catalog.builtin("", "v1", "services")
  const outcomes = await Promise.allSettled(
    servers.map((server, i) => {
      const { object } = services.decode({ metadata: { name: `${prefix}-${i}` }, spec })
      return server.create(services, object, context, {})
    }),
  )
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  expect(outcomes.find(outcome => outcome.status === "rejected")?.reason).toMatchObject({
    code: 422,
    message: expect.stringContaining(rejection) as string,
  })
})
