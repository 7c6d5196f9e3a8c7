// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { ApiError, type WatchEvent } from "./client.js"
import type { Connection, Credentials } from "./connection.js"
import { type HttpClientOptions, type HttpKubernetesClient, httpClient } from "./http-client.js"
import { CONFIG_MAPS, type KubernetesObject, LEASES, PODS, SERVICE_ACCOUNTS } from "./resource-type.js"
import { type Answer, failure, reply, ScriptedApi } from "./testing/scripted-api.js"

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function speakingTo(
  answer: Answer,
  options: Partial<HttpClientOptions> = {},
  credentials: () => Credentials = () => ({}),
): Promise<{ readonly api: ScriptedApi; readonly client: HttpKubernetesClient }> {
  const api = await ScriptedApi.start(answer)
  const connection: Connection = {
    server: api.url,
    insecure: false,
    origin: "a test",
    credentials: async () => credentials(),
    rejected: () => {},
  }
  const client = httpClient(connection, { userAgent: "test", fieldManager: "merlond", random: () => 0, ...options })
  closing.push(
    () => client.close(),
    () => api.close(),
  )
  return { api, client }
}

const pod = (name: string, resourceVersion = "1") => ({ metadata: { name, namespace: "foo", resourceVersion } })

describe("requests", () => {
  it("builds the paths of core, grouped, namespaced and sub-resources", async () => {
    const { api, client } = await speakingTo((_, response) => reply(response, 200, pod("x")))
    await client.get(PODS, "a", "foo")
    await client.create(
      PODS,
      { apiVersion: "v1", kind: "Pod", metadata: { name: "a", namespace: "foo" } },
      { dryRun: true },
    )
    await client.replace(LEASES, { apiVersion: "v1", kind: "Lease", metadata: { name: "l", namespace: "foo" } })
    await client.patch(PODS, "a", { status: {} }, { namespace: "foo", subresource: "status" })
    await client.patch(CONFIG_MAPS, "c", {}, { namespace: "foo", type: "apply" })
    await client.patch(CONFIG_MAPS, "c", [], { namespace: "foo", type: "json" })
    await client.delete(PODS, "a", "foo")
    await client.createSubresource(SERVICE_ACCOUNTS, "d", "token", {}, "foo")
    expect(
      api.asked.map(({ method, url, headers }) => [method, url.pathname + url.search, headers["content-type"]]),
    ).toEqual([
      ["GET", "/api/v1/namespaces/foo/pods/a", undefined],
      ["POST", "/api/v1/namespaces/foo/pods?fieldManager=merlond&dryRun=All", "application/json"],
      ["PUT", "/apis/coordination.k8s.io/v1/namespaces/foo/leases/l?fieldManager=merlond", "application/json"],
      ["PATCH", "/api/v1/namespaces/foo/pods/a/status?fieldManager=merlond", "application/merge-patch+json"],
      ["PATCH", "/api/v1/namespaces/foo/configmaps/c?fieldManager=merlond&force=true", "application/apply-patch+yaml"],
      ["PATCH", "/api/v1/namespaces/foo/configmaps/c?fieldManager=merlond", "application/json-patch+json"],
      ["DELETE", "/api/v1/namespaces/foo/pods/a", undefined],
      ["POST", "/api/v1/namespaces/foo/serviceaccounts/d/token", "application/json"],
    ])
  })

  it("rejects a name that would change the path", async () => {
    const { api, client } = await speakingTo((_, response) => reply(response, 200, pod("x")))
    for (const name of ["../secrets/a?b", "..", ".", ""]) {
      await expect(client.delete(PODS, name, "foo")).rejects.toMatchObject({ code: 400, reason: "BadRequest" })
      await expect(client.delete(PODS, "a", name)).rejects.toMatchObject({ code: 400 })
    }
    expect(api.asked).toEqual([])
  })

  it("reads the credentials for each request", async () => {
    let token = "one"
    const { api, client } = await speakingTo(
      (_, response) => reply(response, 200, pod("x")),
      {},
      () => ({ token }),
    )
    await client.get(PODS, "a", "foo")
    token = "two"
    await client.get(PODS, "a", "foo")
    expect(api.asked.map(({ headers }) => headers.authorization)).toEqual(["Bearer one", "Bearer two"])
  })
})

describe("failures", () => {
  it("carries the server's code, reason and message", async () => {
    const { client } = await speakingTo((_, response) =>
      failure(response, 409, "Conflict", "the object has been modified"),
    )
    await expect(client.create(PODS, { apiVersion: "v1", kind: "Pod", ...pod("a") })).rejects.toMatchObject({
      name: "ApiError",
      code: 409,
      reason: "Conflict",
      message: "the object has been modified",
    })
  })

  it("returns undefined and false for missing objects", async () => {
    const { client } = await speakingTo((_, response) => failure(response, 404, "NotFound", 'pods "a" not found'))
    expect(await client.get(PODS, "a", "foo")).toBeUndefined()
    expect(await client.delete(PODS, "a", "foo")).toBe(false)
  })

  it.each<[string, Answer]>([
    ["an HTML page of a proxy", (_, response) => response.writeHead(502).end("<html>bad gateway</html>")],
    ["JSON that is not a Status", (_, response) => reply(response, 500, ["no"])],
    ["an answer that is not JSON", (_, response) => response.end("ok")],
    ["an answer that is not an object", (_, response) => reply(response, 200, 7)],
    ["a connection that is cut", (_, response) => response.destroy()],
    [
      "a body that is cut",
      (_, response) => {
        response.writeHead(200, { "content-length": "100" })
        response.write("{")
        setImmediate(() => response.destroy())
      },
    ],
  ])("is an ApiError on %s", async (_, answer) => {
    const { client } = await speakingTo(answer)
    await expect(client.patch(PODS, "a", {}, { namespace: "foo" })).rejects.toBeInstanceOf(ApiError)
  })

  it("names the server that did not answer", async () => {
    const { api, client } = await speakingTo(() => {})
    await api.close()
    await expect(client.patch(PODS, "a", {}, { namespace: "foo" })).rejects.toMatchObject({
      code: 0,
      reason: "api-unreachable",
      message: expect.stringContaining(`no answer from the API server at \`${api.url}\``),
    })
  })

  it("times out", async () => {
    const { client } = await speakingTo(() => {}, { timeoutMs: 50 })
    await expect(client.get(PODS, "a", "foo")).rejects.toMatchObject({ code: 0, reason: "api-timeout" })
  })
})

describe("retries", () => {
  const thrice = (fail: (response: ServerResponse) => void): Answer => {
    let count = 0
    return (_, response) => (++count < 3 ? fail(response) : reply(response, 200, pod("a")))
  }
  const busy = (code: number) => (response: ServerResponse) =>
    failure(response, code, "TooManyRequests", "later", { "retry-after": "0" })
  const storeAway = (response: ServerResponse): void =>
    failure(response, 500, "ServerTimeout", "later", { "retry-after": "0" })

  it.each<[string, (response: ServerResponse) => void]>([
    ["the connection is cut", response => response.destroy()],
    ["the server is busy (429)", busy(429)],
    ["the server is not ready (503)", busy(503)],
    ["the server cannot reach its store", storeAway],
  ])("retries a read if %s", async (_, fail) => {
    const { api, client } = await speakingTo(thrice(fail))
    expect(await client.get(PODS, "a", "foo")).toMatchObject({ kind: "Pod" })
    expect(api.asked).toHaveLength(3)
  })

  it("retries a write only if the server says that nothing was done", async () => {
    for (const undone of [busy(429), storeAway]) {
      const rejected = await speakingTo(thrice(undone))
      await rejected.client.patch(PODS, "a", {}, { namespace: "foo" })
      expect(rejected.api.asked).toHaveLength(3)
    }
    const unsure = await speakingTo(thrice(busy(503)))
    await expect(unsure.client.patch(PODS, "a", {}, { namespace: "foo" })).rejects.toMatchObject({ code: 503 })
    expect(unsure.api.asked).toHaveLength(1)
  })

  it("gives up after a few tries", async () => {
    const { api, client } = await speakingTo((_, response) => busy(429)(response))
    await expect(client.get(PODS, "a", "foo")).rejects.toMatchObject({ code: 429 })
    expect(api.asked).toHaveLength(4)
  })
})

describe("lists", () => {
  const page = (names: readonly string[], next?: string) => ({
    metadata: { resourceVersion: "9", ...(next === undefined ? {} : { continue: next }) },
    items: names.map(name => pod(name)),
  })

  it("reads all pages and completes the kind", async () => {
    const { api, client } = await speakingTo(({ url }, response) =>
      reply(response, 200, url.searchParams.get("continue") === null ? page(["a"], "more&") : page(["b"])),
    )
    const { items, resourceVersion } = await client.list(PODS, { labelSelector: "a in (b,c)" })
    expect(items.map(({ kind, apiVersion, metadata }) => [kind, apiVersion, metadata.name])).toEqual([
      ["Pod", "v1", "a"],
      ["Pod", "v1", "b"],
    ])
    expect(resourceVersion).toBe("9")
    expect(api.asked.map(({ url }) => url.searchParams.get("continue"))).toEqual([null, "more&"])
    expect(api.asked[0]?.url.searchParams.get("labelSelector")).toBe("a in (b,c)")
  })

  it("starts again if its pages are too old, and finally reads one piece", async () => {
    const { api, client } = await speakingTo(({ url: { searchParams } }, response) => {
      if (searchParams.get("continue") !== null) return failure(response, 410, "Expired", "too old")
      return reply(response, 200, searchParams.get("limit") === null ? page(["a", "b"]) : page(["a"], "more"))
    })
    const { items } = await client.list(PODS)
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a", "b"])
    expect(api.asked.at(-1)?.url.searchParams.get("limit")).toBeNull()
  })

  it.each([
    [{ items: {}, metadata: { resourceVersion: "1" } }],
    [{ items: [] }],
    [{ items: [null], metadata: { resourceVersion: "1" } }],
  ])("rejects %j", async body => {
    const { client } = await speakingTo((_, response) => reply(response, 200, body))
    await expect(client.list(PODS)).rejects.toMatchObject({ reason: "api-bad-response" })
  })
})

describe("watches", () => {
  const collect = async (client: HttpKubernetesClient, signal = new AbortController().signal) => {
    const events: WatchEvent<KubernetesObject>[] = []
    for await (const event of client.watch(PODS, "5", { namespace: "foo", signal })) events.push(event)
    return events
  }

  it("reads events that the network splits anywhere, even inside a character", async () => {
    const event = { type: "ADDED", object: { metadata: { name: "ä€😀", resourceVersion: "6" } } }
    const bytes = Buffer.from(
      `${JSON.stringify(event)}\n\n${JSON.stringify({ ...event, type: "MODIFIED" })}\n{"type":"AD`,
    )
    const { api, client } = await speakingTo((_, response) => {
      const send = (at: number): void => {
        if (at === bytes.length) response.end()
        else response.write(bytes.subarray(at, at + 1), () => setImmediate(send, at + 1))
      }
      send(0)
    })
    const events = await collect(client)
    expect(events.map(({ type, object }) => [type, object.metadata.name, object.kind])).toEqual([
      ["ADDED", "ä€😀", "Pod"],
      ["MODIFIED", "ä€😀", "Pod"],
    ])
    const { searchParams } = api.asked[0]?.url ?? new URL("x:")
    expect(Object.fromEntries(searchParams)).toMatchObject({
      watch: "1",
      resourceVersion: "5",
      allowWatchBookmarks: "true",
    })
  })

  it.each<[string, string, number]>([
    ["the server's own error", '{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n', 410],
    ["an event of unknown type", '{"type":"ODD","object":{}}\n', 0],
    ["an event without object", '{"type":"ADDED"}\n', 0],
    ["a line that is not JSON", "hello\n", 0],
  ])("fails on %s", async (_, text, code) => {
    const { client } = await speakingTo((_, response) => response.end(text))
    await expect(collect(client)).rejects.toMatchObject({ name: "ApiError", code })
  })

  it("fails on a status", async () => {
    const { client } = await speakingTo((_, response) => failure(response, 403, "Forbidden", "no"))
    await expect(collect(client)).rejects.toMatchObject({ code: 403, reason: "Forbidden" })
  })

  it("ends when aborted, and closes the connection when the consumer leaves", async () => {
    const gone: string[] = []
    const { client } = await speakingTo(({ message }, response) => {
      message.socket.once("close", () => gone.push("closed"))
      response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}\n')
    })
    const end = new AbortController()
    for await (const event of client.watch(PODS, "5", { signal: end.signal })) {
      expect(event.type).toBe("BOOKMARK")
      end.abort()
    }
    for await (const _ of client.watch(PODS, "5", { signal: new AbortController().signal })) break
    await expect.poll(() => gone).toHaveLength(2)
  })
})
