// SPDX-License-Identifier: Apache-2.0
import { afterEach, expect, it, vi } from "vitest"
import { relayTo } from "../testing/relay.js"
import { serverRig } from "../testing/server-rig.js"
import { clientRig, TYPE } from "./testing/client-rig.js"

const closing: (() => unknown)[] = []
const PINGS = { pingEveryMs: 200, pingTimeoutMs: 1_000 }
const NEVER = { pingEveryMs: 1_000_000, pingTimeoutMs: 1_000_000 }
const until = (check: () => void) => vi.waitFor(check, { timeout: 90_000, interval: 5 })

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function over({ server, client }: { readonly server: typeof PINGS; readonly client: typeof PINGS }) {
  const rig = await serverRig({ limits: server })
  const relay = await relayTo(rig.server.port)
  const each = clientRig({ address: relay.address, bundle: rig.authority.bundle, limits: client })
  closing.push(
    () => each.client.close(),
    () => relay.close(),
    () => rig.server.close(),
  )
  each.client.start()
  await until(() => expect(rig.source.acknowledgements.length).toBeGreaterThan(0))
  return { rig, relay, each }
}

it("detects a dead connection in the client, which reconnects with its state when the network works again", async () => {
  const { rig, relay, each } = await over({ server: NEVER, client: PINGS })
  rig.source.set(TYPE, "a", "1")
  await until(() => expect(each.held.get("a")).toBe("1"))
  relay.freeze()
  await until(() => expect(each.client.connected).toBe(false))
  relay.thaw()
  rig.source.set(TYPE, "a", "2")
  await until(() => expect(each.held.get("a")).toBe("2"))
  expect(each.updates.at(-1)?.resources.map(({ name }) => name)).toEqual(["a"])
})

it("detects a dead proxy in the control plane", async () => {
  const { rig, relay } = await over({ server: PINGS, client: NEVER })
  relay.freeze()
  await until(() => expect(rig.source.closed).toBeGreaterThan(0))
})
