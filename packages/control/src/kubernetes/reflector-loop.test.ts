// SPDX-License-Identifier: Apache-2.0
import { afterEach, describe, expect, it } from "vitest"
import { ApiError, type KubernetesClient, type WatchEvent } from "./client.js"
import type { Change } from "./reflector.js"
import { Reflector } from "./reflector-loop.js"
import { CONFIG_MAPS, type KubernetesObject } from "./resource-type.js"
import { VirtualTime } from "./testing/virtual-time.js"

const object = (name: string, resourceVersion: string, uid = `uid-${name}`): KubernetesObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "foo", uid, resourceVersion },
})

/** Controls one open watch. */
interface OpenWatch {
  readonly from: string
  readonly aborted: () => boolean
  send(event: WatchEvent<KubernetesObject>): void
  end(error?: unknown): void
}

/** An API whose lists and watches the test answers. */
class ManualApi {
  contents: readonly KubernetesObject[] = []
  version = "1"
  listError: ApiError | undefined
  lists = 0
  readonly watches: OpenWatch[] = []

  get last(): OpenWatch {
    const watch = this.watches.at(-1)
    if (watch === undefined) throw new Error("no watch is open")
    return watch
  }

  client(): KubernetesClient {
    const list = async () => {
      this.lists++
      if (this.listError !== undefined) throw this.listError
      return { items: this.contents, resourceVersion: this.version }
    }
    // Only the methods that a reflector calls.
    return {
      list,
      watch: (_type: unknown, from: string, { signal }: { signal: AbortSignal }) => this.#open(from, signal),
    } as unknown as KubernetesClient
  }

  async *#open(from: string, signal: AbortSignal): AsyncGenerator<WatchEvent<KubernetesObject>> {
    const queue: (WatchEvent<KubernetesObject> | { readonly end: unknown })[] = []
    let wake = (): void => {}
    const push = (item: (typeof queue)[number]): void => {
      queue.push(item)
      wake()
    }
    this.watches.push({ from, aborted: () => signal.aborted, send: push, end: error => push({ end: error }) })
    signal.addEventListener("abort", () => wake())
    while (!signal.aborted) {
      const item = queue.shift()
      if (item === undefined) await new Promise<void>(resolve => (wake = resolve))
      else if (!("end" in item)) yield item
      else if (item.end === undefined) return
      else throw item.end
    }
  }
}

describe("a reflector", () => {
  const running: Reflector<KubernetesObject>[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map(reflector => reflector.stop()))
  })

  async function reflect(contents: readonly KubernetesObject[]) {
    const api = new ManualApi()
    api.contents = contents
    const time = new VirtualTime()
    const logged: string[] = []
    const reflector = new Reflector<KubernetesObject>({
      client: api.client(),
      type: CONFIG_MAPS,
      time,
      random: () => 1,
      progressDeadlineMs: 10_000,
      log: message => logged.push(message),
    })
    running.push(reflector)
    const changes: string[] = []
    reflector.onChange(change => changes.push(shown(change)))
    reflector.start()
    await time.advance(0)
    return { api, time, reflector, changes, logged }
  }
  const shown = ({ key, object: now, previous }: Change<KubernetesObject>): string =>
    `${key} ${previous?.metadata.resourceVersion ?? "-"}→${now?.metadata.resourceVersion ?? "-"}`

  it("lists, then watches from there", async () => {
    const { api, time, reflector, changes } = await reflect([object("a", "1")])
    await reflector.synced
    expect(api.last.from).toBe("1")
    api.last.send({ type: "ADDED", object: object("b", "2") })
    api.last.send({ type: "MODIFIED", object: object("a", "3") })
    api.last.send({ type: "DELETED", object: object("b", "4") })
    await time.advance(0)
    expect(changes).toEqual(["foo/a -→1", "foo/b -→2", "foo/a 1→3", "foo/b 4→-"])
    expect([...reflector.items.keys()]).toEqual(["foo/a"])
  })

  it("lists again for a refresh, although its watch is open and silent", async () => {
    const { api, time, reflector, changes, logged } = await reflect([object("a", "1")])
    const stuck = api.last
    api.contents = [object("a", "2")]
    api.version = "2"
    let fresh = 0
    for (let i = 0; i < 2; i++) void reflector.refresh().then(() => fresh++)
    await time.advance(0)
    expect([stuck.aborted(), api.lists, fresh]).toEqual([true, 2, 2])
    expect(changes).toEqual(["foo/a -→1", "foo/a 1→2"])
    expect([api.last.from, reflector.health.connected, logged]).toEqual(["2", true, []])
  })

  it("does not count a list that began before a refresh", async () => {
    const { api, time, reflector } = await reflect([])
    api.listError = new ApiError(503, "ServiceUnavailable", "away")
    let fresh = false
    void reflector.refresh().then(() => {
      fresh = true
    })
    await time.advance(0)
    expect([api.lists, fresh]).toEqual([2, false])
    api.listError = undefined
    await time.advance(1_000)
    expect([api.lists, fresh]).toEqual([3, true])
  })

  it("drops managed fields", async () => {
    const managed = (name: string, version: string): KubernetesObject => {
      const bare = object(name, version)
      const managedFields = [{ manager: "kubelet", fieldsV1: { "f:status": {} } }]
      return { ...bare, metadata: { ...bare.metadata, managedFields }, status: { phase: "Running" } }
    }
    const { api, time, reflector } = await reflect([managed("a", "1")])
    api.last.send({ type: "ADDED", object: managed("b", "2") })
    await time.advance(0)
    const plain = [object("a", "1"), object("b", "2")].map(each => ({ ...each, status: { phase: "Running" } }))
    expect([...reflector.items.values()]).toEqual(plain)
  })

  it("continues where a watch ended, also from a bookmark", async () => {
    const { api, time, changes } = await reflect([])
    api.last.send({ type: "BOOKMARK", object: object("", "77") })
    api.last.end()
    await time.advance(0)
    expect(api.last.from).toBe("77")
    expect(api.lists).toBe(1)
    expect(changes).toEqual([])
  })

  it("lists again on 410 and reports exactly the difference", async () => {
    const { api, time, changes } = await reflect([
      object("same", "1"),
      object("changed", "1"),
      object("gone", "1"),
      object("reborn", "1", "old"),
    ])
    changes.length = 0
    api.contents = [object("same", "1"), object("changed", "5"), object("new", "6"), object("reborn", "7", "young")]
    api.version = "9"
    api.last.end(new ApiError(410, "Expired", "too old"))
    await time.advance(1_000)
    expect(changes).toEqual(["foo/gone 1→-", "foo/reborn 1→-", "foo/changed 1→5", "foo/new -→6", "foo/reborn -→7"])
    expect(api.last.from).toBe("9")
  })

  it("keeps the copy while the API is unreachable, reports since when, and recovers", async () => {
    const { api, time, reflector, changes } = await reflect([object("a", "1")])
    const healths: boolean[] = []
    reflector.onHealth(({ connected }) => healths.push(connected))
    expect(reflector.health.connected).toBe(true)
    api.listError = new ApiError(0, "api-unreachable", "away")
    api.last.end(new ApiError(0, "api-unreachable", "cut"))
    await time.advance(120_000)
    expect(reflector.health).toMatchObject({ connected: false, since: 0, error: "away" })
    expect([...reflector.items.keys()]).toEqual(["foo/a"])
    expect(api.lists).toBeLessThan(20)
    api.listError = undefined
    await time.advance(31_000)
    expect(reflector.health.connected).toBe(true)
    expect(healths.at(-1)).toBe(true)
    expect(changes).toEqual(["foo/a -→1"])
  })

  it("reopens a watch that has been silent for too long", async () => {
    const { api, time } = await reflect([])
    await time.advance(9_000)
    api.last.send({ type: "BOOKMARK", object: object("", "5") })
    await time.advance(9_000)
    expect(api.watches).toHaveLength(1)
    await time.advance(2_000)
    expect(api.watches.map(({ from, aborted }) => [from, aborted()])).toEqual([
      ["1", true],
      ["5", false],
    ])
  })

  it.each<[string, (api: ManualApi) => void]>([
    ["is behind our revision", api => api.last.send({ type: "BOOKMARK", object: object("", "40") })],
    ["sends nothing at all", () => undefined],
  ])("lists again if a server restored from a backup %s", async (_, say) => {
    const { api, time, changes } = await reflect([object("kept", "1"), object("later", "90")])
    api.last.send({ type: "BOOKMARK", object: object("", "99") })
    api.last.end()
    await time.advance(0)
    expect(api.last.from).toBe("99")
    changes.length = 0
    api.contents = [object("kept", "1"), object("deleted-since", "30")]
    api.version = "40"
    say(api)
    await time.advance(12_000)
    expect(changes).toEqual(["foo/later 90→-", "foo/deleted-since -→30"])
    expect(api.last.from).toBe("40")
  })

  it("does not loop without pauses if every watch ends at once", async () => {
    const { api, time } = await reflect([])
    for (let round = 0; round < 50; round++) {
      api.last.end()
      await time.advance(100)
    }
    expect(api.watches.length).toBeLessThan(10)
  })

  it("notifies the others if a listener throws, and ignores objects without a name", async () => {
    const { api, time, reflector, logged } = await reflect([])
    const received: string[] = []
    reflector.onChange(() => {
      throw new Error("mine alone")
    })
    reflector.onChange(change => received.push(change.key))
    api.last.send({ type: "ADDED", object: { apiVersion: "v1", kind: "ConfigMap" } as KubernetesObject }) // from a broken server
    api.last.send({ type: "ADDED", object: object("a", "2") })
    await time.advance(0)
    expect(received).toEqual(["foo/a"])
    expect(logged).toEqual([expect.stringContaining("without a name"), expect.stringContaining("failed on `foo/a`")])
  })

  it("stops at once even while a list hangs", async () => {
    const client = { list: () => new Promise(() => {}) } as unknown as KubernetesClient // nothing else is called
    const reflector = new Reflector<KubernetesObject>({ client, type: CONFIG_MAPS, time: new VirtualTime() }).start()
    await reflector.stop()
    expect(reflector.items.size).toBe(0)
  })

  it("reports nothing after it was stopped", async () => {
    const { api, reflector, changes } = await reflect([])
    const { last } = api
    const stopped = reflector.stop()
    last.send({ type: "ADDED", object: object("a", "2") })
    await stopped
    expect(last.aborted()).toBe(true)
    expect(changes).toEqual([])
  })
})
