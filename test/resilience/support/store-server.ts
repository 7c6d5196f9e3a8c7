// SPDX-License-Identifier: Apache-2.0
// A killable process with a store: JSON lines in, JSON lines out. It responds only after the store did, so everything
// that the client has read was acknowledged. Started in advance, it waits for `open`.

import { createInterface } from "node:readline"
import { openEmbeddedStore } from "../../../packages/cluster/src/store/embedded/open.js"
import { openEtcdStore } from "../../../packages/cluster/src/store/etcd/open.js"
import type { Store, Write } from "../../../packages/cluster/src/store/store.js"

export type Place = { folder: string } | { endpoint: string; timeoutMs: number }

export type Request =
  | { do: "open"; place: Place }
  | { do: "commit"; writes: Write[] }
  | { do: "range"; prefix: string }
  | { do: "watch"; prefix: string; after: number }
  | { do: "compact"; revision: number }

let store: Store | undefined

function opened(): Store {
  if (store === undefined) throw new Error("the store is not open")
  return store
}

async function serve(request: Request): Promise<unknown> {
  switch (request.do) {
    case "open":
      store =
        "folder" in request.place
          ? await openEmbeddedStore(request.place.folder)
          : await openEtcdStore({ endpoints: [request.place.endpoint], timeoutMs: request.place.timeoutMs })
      return { revision: store.revision() }
    case "commit":
      return { revision: await opened().commit([], request.writes) }
    case "range": {
      const { entries, revision } = await opened().range({ prefix: request.prefix })
      return { revision, entries: entries.map(({ key, object }) => [key, object.id]) }
    }
    case "watch":
      opened().watch(request.prefix, request.after, ({ revision, key, entry, previous }) =>
        say({ event: { revision, key, id: entry?.object.id, previous: previous?.object.id } }),
      )
      return { revision: opened().revision() }
    case "compact":
      await opened().compact(request.revision)
      return {}
    default:
      return request satisfies never
  }
}

const say = (message: unknown): void => {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

const lines = createInterface({ input: process.stdin })

// The parent process is gone.
lines.once("close", () => process.exit(0))

lines.on("line", line => {
  const { call, request } = JSON.parse(line) as { call: number; request: Request }
  serve(request).then(
    answer => say({ call, answer }),
    error => say({ call, error: { code: error?.code, message: String(error) } }),
  )
})
