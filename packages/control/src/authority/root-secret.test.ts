// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { SECRETS } from "../kubernetes/resource-type.js"
import { openRootSecret, replaceRootSecret } from "./root-secret.js"
import { readSecretData } from "./secret-data.js"
import { readStoredRoot, type StoredRoot, writeStoredRoot } from "./stored-root.js"
import { NAMES, Stage, secretObject } from "./testing/authority-stage.js"

describe("the Secret with the root", () => {
  it("is created once", async () => {
    const stage = new Stage()
    const first = await openRootSecret(stage.rootSettings)
    const second = await openRootSecret(stage.rootSettings)
    expect(second.stored).toEqual(first.stored)
    expect(stage.cluster.writes.map(({ verb }) => verb)).toEqual(["create"])
    expect(stage.secret).toMatchObject({
      type: "merlon.dev/ca-root",
      metadata: {
        name: "merlon-ca",
        namespace: "merlon-system",
        annotations: { "merlon.dev/rotation-phase": "steady" },
      },
    })
  })

  it("is one for all replicas that start together", async () => {
    const stage = new Stage()
    const opened = await Promise.all(Array.from({ length: 5 }, () => openRootSecret(stage.rootSettings)))
    expect(new Set(opened.map(({ stored }) => stored.state.current.root)).size).toBe(1)
    expect(stage.cluster.writes.filter(({ verb }) => verb === "create").length).toBeGreaterThan(1)
  })

  const good = (): Record<string, string> => {
    const stage = new Stage()
    const current = stage.root()
    const state: StoredRoot["state"] = { phase: "steady", current, since: 0, demand: "" }
    return Object.fromEntries(writeStoredRoot({ state, longestTtlMs: 1, lastOldExpiry: 0, past: [] }))
  }

  it.each<[string, (files: Record<string, string>) => Record<string, string>, string]>([
    ["is empty", () => ({}), "`state.json` is missing"],
    ["lost its key", files => without(files, "ca-key.pem"), "`ca-key.pem` is missing"],
    ["lost its certificate", files => without(files, "ca-cert.pem"), "`ca-cert.pem` is missing"],
    [
      "has another certificate's key",
      files => ({ ...files, "ca-key.pem": new Stage().root().privateKey }),
      "does not belong to the first",
    ],
    ["has a damaged certificate", files => ({ ...files, "ca-cert.pem": "x" }), "holds no certificate"],
    ["has a damaged state", files => ({ ...files, "state.json": "{" }), "`state.json` is not JSON"],
    ["has an invalid state", files => ({ ...files, "state.json": "null" }), "`state.json` is not an object"],
    [
      "names an unknown phase",
      files => ({ ...files, "state.json": files["state.json"]?.replace("steady", "x") ?? "" }),
      "no valid `phase`",
    ],
    [
      "rotates to a root it lacks",
      files => ({ ...files, "state.json": files["state.json"]?.replace("steady", "distribute") ?? "" }),
      "`next-cert.pem` is missing",
    ],
    [
      "lacks a number",
      files => ({ ...files, "state.json": files["state.json"]?.replace("longestTtlMs", "x") ?? "" }),
      "lacks the number `longestTtlMs`",
    ],
  ])("that %s fails the start and is not changed", async (_, damage, message) => {
    const stage = new Stage()
    const before = stage.cluster.put(SECRETS, secretObject(NAMES.rootSecret, damage(good())))
    await expect(openRootSecret(stage.rootSettings)).rejects.toThrow(message)
    await expect(stage.authority()).rejects.toThrow("the Secret `merlon-system/merlon-ca` cannot be used")
    expect(stage.secret).toBe(before)
    expect(stage.cluster.writes).toEqual([])
  })

  it("that has expired is not changed without a request", async () => {
    const stage = new Stage()
    stage.cluster.put(SECRETS, secretObject(NAMES.rootSecret, good()))
    stage.clock.setWall(Date.UTC(2046, 0, 1))
    await expect(openRootSecret(stage.rootSettings)).rejects.toThrow("has expired")
    expect(stage.cluster.writes).toEqual([])
  })

  it("is not replaced while the API does not answer", async () => {
    const stage = new Stage()
    stage.cluster.get = () => Promise.reject(new ApiError(0, "api-unreachable", "no answer"))
    await expect(openRootSecret(stage.rootSettings)).rejects.toThrow("no answer")
    expect(stage.cluster.writes).toEqual([])
  })

  it("is replaced only in the version that was read", async () => {
    const stage = new Stage()
    const opened = await openRootSecret(stage.rootSettings)
    stage.annotate({ other: "edit" })
    expect(await replaceRootSecret(stage.rootSettings, opened, opened.stored)).toBeUndefined()
  })

  it("survives a round trip in every phase", () => {
    const stage = new Stage()
    const [a, b] = [stage.root(), stage.root()]
    const standing = { current: a, since: 5, demand: "x" }
    const states: StoredRoot["state"][] = [
      { ...standing, phase: "steady" },
      { ...standing, phase: "distribute", next: b },
      { ...standing, phase: "sign", previous: b },
      { ...standing, phase: "retire" },
    ]
    for (const state of states) {
      const stored = { state, longestTtlMs: 7, lastOldExpiry: 9, past: ["aa"] }
      expect(readStoredRoot(writeStoredRoot(stored), stage.clock.now())).toEqual({ ok: true, stored })
    }
  })

  it("keeps an expired old root until it is retired", () => {
    const stage = new Stage()
    const state: StoredRoot["state"] = {
      phase: "sign",
      current: stage.root(),
      previous: stage.root(),
      since: 0,
      demand: "",
    }
    const files = new Map(writeStoredRoot({ state, longestTtlMs: 7, lastOldExpiry: 9, past: [] }))
    stage.clock.setWall(Date.UTC(2035, 0, 1))
    files.set("ca-cert.pem", "")
    const fresh = stage.root()
    files.set("ca-cert.pem", fresh.root).set("ca-key.pem", fresh.privateKey)
    stage.clock.setWall(Date.UTC(2037, 0, 1))
    expect(readStoredRoot(files, stage.clock.now())).toMatchObject({ ok: true })
  })

  it("stores its files in standard form", async () => {
    const stage = new Stage()
    const { stored } = await openRootSecret(stage.rootSettings)
    expect(readSecretData(stage.secret).get("root-cert.pem")).toBe(stored.state.current.root)
  })
})

function without(files: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([file]) => file !== name))
}
