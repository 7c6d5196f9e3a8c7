// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { CONFIG_MAPS } from "../kubernetes/resource-type.js"
import { settle } from "../observe/testing/manual-clock.js"
import { NAMES, Stage } from "./testing/authority-stage.js"

const ID = "spiffe://cluster.local/ns/foo/sa/a"

describe("revocations", () => {
  it("are in the trust from the start and follow the ConfigMap", async () => {
    const stage = new Stage()
    stage.configMap(NAMES.revocationsConfigMap, { identities: ID })
    const authority = await stage.authority()
    expect(authority.current).toMatchObject({ revokedIdentities: [ID], revokedSerials: [] })
    let changes = 0
    authority.onChange(() => changes++)
    stage.configMap(NAMES.revocationsConfigMap, { identities: ID, serials: "4f:0a" })
    await settle()
    expect(authority.current).toMatchObject({ revokedIdentities: [ID], revokedSerials: ["4F0A"] })
    await stage.cluster.delete(CONFIG_MAPS, NAMES.revocationsConfigMap, NAMES.namespace)
    await settle()
    expect(authority.current).toMatchObject({ revokedIdentities: [], revokedSerials: [] })
    expect(changes).toBe(2)
  })

  it("keep their good lines and report bad ones", async () => {
    const stage = new Stage()
    stage.configMap(NAMES.revocationsConfigMap, { identities: `everyone\n${ID}`, serials: "zz\n4f" })
    const authority = await stage.authority()
    expect(authority.current).toMatchObject({ revokedIdentities: [ID], revokedSerials: ["4F"] })
    expect(authority.facts).toMatchObject({ revokedIdentities: 1, revokedSerials: 1, revocationErrors: 2 })
    expect(stage.log.lines).toEqual([
      expect.stringContaining("line 1 of `identities` in the revocations: `everyone` is invalid and revokes nothing"),
      expect.stringContaining("line 1 of `serials` in the revocations: `zz` is invalid and revokes nothing"),
    ])
  })

  it("are reported as unreadable on every read, also if the trust stays", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    let read = 0
    authority.onRevocationsRead(() => read++)
    stage.configMap(NAMES.revocationsConfigMap, { identites: ID })
    await settle()
    expect(read).toBe(1)
    expect(authority.revocationErrors.map(({ message }) => message)).toEqual([
      "the key `identites` is unknown; write `identities`",
    ])
    expect(stage.log.lines).toEqual([expect.stringContaining("the revocations: the key `identites` is unknown")])
  })

  it("are not those of another namespace or another name", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    stage.configMap(NAMES.revocationsConfigMap, { identities: ID }, "foo")
    stage.configMap("other", { identities: ID })
    await settle()
    expect(authority.current.revokedIdentities).toEqual([])
  })

  it("do not push an unchanged trust", async () => {
    const stage = new Stage()
    stage.configMap(NAMES.revocationsConfigMap, { identities: ID })
    const authority = await stage.authority()
    let changes = 0
    authority.onChange(() => changes++)
    stage.configMap(NAMES.revocationsConfigMap, { identities: `# why\n${ID}\n` })
    await settle()
    expect(changes).toBe(0)
  })
})
