// SPDX-License-Identifier: Apache-2.0
import { makeSigningRequest } from "@merlon/identity"
import type { Caller } from "@merlon/xds/server"
import { describe, expect, it, vi } from "vitest"
import { SECRETS } from "../kubernetes/resource-type.js"
import { HOUR, NAMES, Stage } from "./testing/authority-stage.js"

const CALLER: Caller = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "httpbin", proof: "token" }
const REQUEST = makeSigningRequest().request

describe("a root that expired while no replica ran", () => {
  const { replaceExpired, signingRoot } = NAMES.annotations

  async function endedMesh() {
    const stage = new Stage()
    const before = await stage.authority({ rootLifetimeMs: HOUR })
    before.close()
    await stage.clock.advance(2 * HOUR)
    const waiting: (string | undefined)[] = []
    const stopped = new AbortController()
    const started = stage.authority({ waiting: what => waiting.push(what), stopped: stopped.signal })
    await vi.waitFor(() => expect(waiting).toHaveLength(1), 90_000)
    const fingerprint = stage.secret.metadata.annotations?.[signingRoot] ?? ""
    const annotate = (value: string): void => {
      const { metadata, ...rest } = stage.secret
      const annotations = { ...metadata.annotations, [replaceExpired]: value }
      stage.cluster.put(SECRETS, { ...rest, metadata: { ...metadata, annotations } })
    }
    return { stage, before, waiting, stopped, started, fingerprint, annotate }
  }

  it("makes the control plane wait and report what to do", async () => {
    const { stage, waiting, started, stopped, fingerprint } = await endedMesh()
    const command = `kubectl annotate secret merlon-ca -n merlon-system ${replaceExpired}=${fingerprint}`
    expect(waiting[0]).toContain("has expired")
    expect(waiting[0]).toContain(command)
    expect(stage.log.lines).toEqual([expect.stringContaining(command)])
    stopped.abort()
    await expect(started).rejects.toThrow("stopped while waiting")
  })

  it("is replaced once, when an operator asks for it", async () => {
    const { stage, before, waiting, started, annotate, fingerprint } = await endedMesh()
    const other = stage.authority()
    annotate(fingerprint)
    const [authority, another] = await Promise.all([started, other])
    expect(authority.current.signer).not.toBe(before.current.signer)
    expect(another.current.signer).toBe(authority.current.signer)
    expect(waiting.at(-1)).toBeUndefined()
    expect((await authority.sign(CALLER, REQUEST, 60)).ok).toBe(true)
    authority.close()
    another.close()
  })

  it("is not replaced if the annotation names another root", async () => {
    const { stage, waiting, started, stopped, annotate } = await endedMesh()
    annotate("another")
    await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(1), 90_000)
    expect(waiting.at(-1)).toContain("has expired")
    expect(stage.secret.metadata.annotations?.[signingRoot]).toBeDefined()
    stopped.abort()
    await expect(started).rejects.toThrow("stopped while waiting")
  })
})

describe("a root that expires while a control plane runs", () => {
  const { replaceExpired, signingRoot } = NAMES.annotations

  it.each([
    ["is replaced when a user asks for it, without a restart", (fingerprint: string) => fingerprint, true],
    ["is not replaced if the annotation names another root, and the log has the fix", () => "another", false],
  ])("%s", async (_, word, replaced) => {
    const stage = new Stage()
    const authority = await stage.authority({ rootLifetimeMs: HOUR })
    const before = authority.current.signer
    await stage.clock.advance(2 * HOUR)
    const { metadata, ...rest } = stage.secret
    const fingerprint = metadata.annotations?.[signingRoot] ?? ""
    const annotations = { ...metadata.annotations, [replaceExpired]: word(fingerprint) }
    const lines = stage.log.lines.length
    stage.cluster.put(SECRETS, { ...rest, metadata: { ...metadata, annotations } })
    await vi.waitFor(
      () => expect(authority.current.signer !== before || stage.log.lines.length > lines).toBe(true),
      90_000,
    )
    expect(authority.current.signer !== before).toBe(replaced)
    if (replaced) expect((await authority.sign(CALLER, REQUEST, 60)).ok).toBe(true)
    else expect(stage.log.lines.at(-1)).toContain("kubectl annotate secret")
    authority.close()
  })
})
