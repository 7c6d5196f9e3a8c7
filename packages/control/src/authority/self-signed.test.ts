// SPDX-License-Identifier: Apache-2.0
import { CertificateAuthority } from "@merlon/identity"
import { describe, expect, it } from "vitest"
import { SECRETS } from "../kubernetes/resource-type.js"
import { settle } from "../observe/testing/manual-clock.js"
import { writeSecretData } from "./secret-data.js"
import { SelfSigned } from "./self-signed.js"
import { type StoredRoot, writeStoredRoot } from "./stored-root.js"
import { fingerprints, HOUR, NAMES, Stage, secretObject } from "./testing/authority-stage.js"

async function replica(stage: Stage) {
  let rejected = 0
  const secrets = stage.cluster.reflect(SECRETS)
  const settings = {
    ...stage.rootSettings,
    isLeader: () => stage.leading,
    log: stage.log,
    onRejected: () => rejected++,
    waiting: () => undefined,
    stopped: new AbortController().signal,
  }
  const keys = await SelfSigned.open(settings, secrets)
  keys.follow(secrets)
  return { keys, rejected: () => rejected }
}

const write = (stage: Stage, stored: StoredRoot) =>
  stage.cluster.put(SECRETS, { ...stage.secret, data: writeSecretData(writeStoredRoot(stored)) })

describe("generated keys", () => {
  it("are followed by every replica", async () => {
    const stage = new Stage()
    const [a, b] = [await replica(stage), await replica(stage)]
    const next = stage.root()
    await a.keys.update(stored => ({ ...stored, state: { ...stored.state, phase: "distribute", next } }))
    await settle()
    expect(b.keys.current.phase).toBe("distribute")
    expect(fingerprints(b.keys.current.bundle)).toHaveLength(2)
    expect(b.keys.current).toMatchObject({ bundle: a.keys.current.bundle })
  })

  it("sign the control plane's certificates with the old root while the new one signs", async () => {
    const stage = new Stage()
    const { keys } = await replica(stage)
    const next = stage.root()
    const old = keys.current.signer.fingerprint
    await keys.update(({ state, ...rest }) => ({
      ...rest,
      state: { ...state, phase: "sign", current: next, previous: state.current },
    }))
    expect(keys.current.server.fingerprint).toBe(old)
    expect(keys.current.signer.fingerprint).toBe(new CertificateAuthority(next, stage.clock.now()).fingerprint)
  })

  it("stay unchanged if the Secret becomes unreadable", async () => {
    const stage = new Stage()
    const { keys, rejected } = await replica(stage)
    const before = keys.current
    stage.cluster.put(SECRETS, secretObject(NAMES.rootSecret, {}))
    await settle()
    expect([keys.current, rejected()]).toEqual([before, 1])
    expect(stage.log.lines).toContainEqual(expect.stringMatching(/^error .*`state.json` is missing/))
  })

  it("stay unchanged if the Secret is replaced by a foreign one", async () => {
    const stage = new Stage()
    const { keys, rejected } = await replica(stage)
    const before = keys.current
    write(stage, { ...keys.stored, state: { ...keys.stored.state, phase: "steady", current: stage.root() } })
    await settle()
    expect([keys.current, rejected()]).toEqual([before, 1])
    await expect(keys.update(stored => ({ ...stored, longestTtlMs: 1 }))).rejects.toThrow("root CA of another mesh")
    expect(keys.current).toBe(before)
  })

  it("follow a whole rotation that this replica missed", async () => {
    const stage = new Stage()
    const { keys, rejected } = await replica(stage)
    const past = [keys.current.signer.fingerprint]
    const current = stage.root()
    write(stage, { ...keys.stored, past, state: { ...keys.stored.state, phase: "steady", current } })
    await settle()
    expect(rejected()).toBe(0)
    expect(keys.current.bundle).toBe(current.root)
  })

  it("do not go back to a version older than the last write", async () => {
    const stage = new Stage()
    const { keys } = await replica(stage)
    stage.cluster.hold()
    stage.annotate({ any: "edit" })
    const next = stage.root()
    await keys.update(stored => ({ ...stored, state: { ...stored.state, phase: "distribute", next } }))
    const seen: string[] = []
    keys.onChange(() => seen.push(keys.current.phase))
    stage.cluster.release()
    await settle()
    expect(seen).toEqual([])
    expect(keys.current.phase).toBe("distribute")
  })

  it("are restored when the Secret is deleted", async () => {
    const stage = new Stage()
    const { keys } = await replica(stage)
    const before = keys.current.bundle
    await stage.cluster.delete(SECRETS, NAMES.rootSecret, NAMES.namespace)
    await settle()
    const again = await replica(stage)
    expect(again.keys.current.bundle).toBe(before)
  })

  it("are restored only by the leader", async () => {
    const stage = new Stage()
    await replica(stage)
    stage.leading = false
    await stage.cluster.delete(SECRETS, NAMES.rootSecret, NAMES.namespace)
    await settle()
    expect(() => stage.secret).toThrow()
  })

  it("store the longest lifetime before a certificate gets it", async () => {
    const stage = new Stage()
    const [a, b] = [await replica(stage), await replica(stage)]
    stage.cluster.writes.length = 0
    await a.keys.allowTtl(HOUR)
    expect(stage.cluster.writes).toEqual([])
    stage.cluster.hold()
    await Promise.all([a.keys.allowTtl(48 * HOUR), b.keys.allowTtl(72 * HOUR)])
    expect((await replica(stage)).keys.stored.longestTtlMs).toBe(72 * HOUR)
  })
})
