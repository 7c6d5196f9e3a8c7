// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from "node:http"
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it, test } from "vitest"
import type { KubernetesClient } from "../kubernetes/client.js"
import { ApiServerCaller } from "./api-server-caller.js"
import { registeredPath } from "./webhook-path.js"

const SECRET = Buffer.alloc(32, 1)
const NOW = Date.now()
// A request without a client certificate.
const asked = { socket: {} } as IncomingMessage

function rig(paths: readonly string[], caBundle: string | undefined = "Y2E=") {
  let reads = 0
  let now = NOW
  const client = {
    get: async () => {
      reads++
      return {
        metadata: { name: "x" },
        webhooks: paths.map(path => ({ clientConfig: { caBundle, service: { path } } })),
      }
    },
  } as unknown as Pick<KubernetesClient, "get"> // only this method is called, for one kind of object
  const caller = new ApiServerCaller({
    client,
    names: meshNames(),
    secrets: () => [SECRET],
    frontProxy: () => undefined,
    now: () => now,
  })
  return {
    ask: (path: string) => caller.authenticate(path, asked),
    reads: () => reads,
    pass: (ms: number) => {
      now += ms
    },
  }
}

describe("without a certificate", () => {
  const secret = registeredPath(SECRET, "/validate", NOW)
  const stale = registeredPath(SECRET, "/validate", NOW - 86_400_000)
  test.each<[string, string, readonly string[], string | undefined]>([
    ["the secret path", secret, [], "/validate"],
    ["a guess", "/validate", [secret], undefined],
    ["the path of an older version that is registered", "/validate", ["/validate"], "/validate"],
    ["another path than the registered one", "/inject", ["/validate"], undefined],
    ["an old secret path that is still registered", stale, [stale], "/validate"],
    ["an old secret path that was replaced", stale, [secret], undefined],
  ])("%s", async (_, path, registered, expected) => {
    expect(await rig(registered).ask(path)).toBe(expected)
  })

  it("a path that was installed but never served is rejected", async () => {
    expect(await rig(["/validate"], "").ask("/validate")).toBeUndefined()
  })
})

it("reads the registration once a second, however often strangers send requests", async () => {
  const { ask, reads, pass } = rig([])
  for (let n = 0; n < 50; n++) await ask("/validate")
  expect(reads()).toBe(2)
  pass(1_000)
  await ask("/validate")
  expect(reads()).toBe(4)
})
