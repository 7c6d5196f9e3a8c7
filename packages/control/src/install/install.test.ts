// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { CUSTOM_RESOURCE_DEFINITIONS, type KubernetesObject } from "../kubernetes/resource-type.js"
import { VirtualTime } from "../kubernetes/testing/virtual-time.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { definitionManifests, installDefinitions } from "./install.js"

describe("installing the kinds", () => {
  const names = meshNames()
  const first = definitionManifests(names)[0]?.object.metadata.name ?? ""

  function start() {
    const client = new MemoryClient()
    const time = new VirtualTime()
    const done = installDefinitions({ client, names, time, timeoutMs: 5_000 }).then(
      () => "installed",
      (error: Error) => error.message,
    )
    const say = (type: string, status: string, message = ""): void => {
      for (const { object } of definitionManifests(names)) {
        const stored = client.objects.get(`customresourcedefinitions/${object.metadata.name}`)
        if (stored === undefined) throw new Error("it is not stored")
        const conditions = [{ type, status, message }]
        client.put(CUSTOM_RESOURCE_DEFINITIONS, { ...stored, status: { conditions } })
      }
    }
    return { client, time, done, say }
  }

  it("waits until the API serves them", async () => {
    const { time, done, say } = start()
    await time.advance(1_000)
    say("Established", "True")
    await time.advance(200)
    expect(await done).toBe("installed")
  })

  it("reports which kind cannot be served and why", async () => {
    const { time, done, say } = start()
    await time.advance(1_000)
    say("NamesAccepted", "False", '"ra" is already in use')
    await time.advance(200)
    expect(await done).toBe(`the kind \`${first}\` cannot be served: "ra" is already in use`)
  })

  it("times out, and reports where to look", async () => {
    const { time, done } = start()
    await time.advance(10_000)
    expect(await done).toBe(
      `the kind \`${first}\` is still not served after 5 s; see \`kubectl describe crd ${first}\``,
    )
  })

  it("updates an older one that another replica creates at the same time", async () => {
    const { client, time, done, say } = start()
    client.beforeWrite = ({ verb, body }) => {
      // Just before our own write arrives.
      if (verb === "create") client.put(CUSTOM_RESOURCE_DEFINITIONS, body as KubernetesObject) // a manifest
    }
    await time.advance(1_000)
    say("Established", "True")
    await time.advance(200)
    expect(await done).toBe("installed")
  })
})
