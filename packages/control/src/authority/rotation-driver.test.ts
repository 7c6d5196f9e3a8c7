// SPDX-License-Identifier: Apache-2.0
import { certificateFacts, makeSigningRequest, signerOf } from "@merlon/identity"
import { describe, expect, it } from "vitest"
import { SECRETS } from "../kubernetes/resource-type.js"
import { settle } from "../observe/testing/manual-clock.js"
import { type Authority, SETTLE_MS } from "./authority.js"
import { fingerprints, HOUR, NAMES, SECRET_KEY, Stage, YEAR } from "./testing/authority-stage.js"

const { rotate, retire, phase: phaseAnnotation, oldRoot } = NAMES.annotations

/** A replica that has led for long enough, in a mesh with the proxies `a` and `b`, which know its trust. */
async function mesh() {
  const stage = new Stage()
  const authority = await stage.authority()
  const old = authority.current.signer
  everyone(stage, authority)
  authority.rotateWith(stage.ledger)
  await stage.clock.advance(SETTLE_MS)
  return { stage, authority, old }
}

/** All proxies acknowledge the current trust and have certificates of the current signer. */
function everyone(stage: Stage, authority: Authority, names = ["a", "b"]): void {
  for (const name of names) stage.ledger.says(`foo/${name}`, authority.current, authority.current.signer)
}

async function demanded() {
  const scene = await mesh()
  scene.stage.annotate({ [rotate]: "2026-11-15" })
  await scene.stage.clock.advance(SETTLE_MS)
  return scene
}

/** A rotation up to the phase in which the new root signs. */
async function signing() {
  const scene = await demanded()
  everyone(scene.stage, scene.authority)
  await scene.stage.clock.advance(SETTLE_MS)
  return scene
}

const phaseOf = ({ facts }: Authority) => facts.phase

describe("a rotation of the root", () => {
  it("does not begin without a reason", async () => {
    const { stage, authority } = await mesh()
    await stage.clock.advance(24 * HOUR)
    expect(phaseOf(authority)).toBe("steady")
  })

  it("goes through its phases as proxies acknowledge, and reports them", async () => {
    const { stage, authority, old } = await mesh()
    const shown = () => stage.secret.metadata.annotations?.[phaseAnnotation]

    stage.annotate({ [rotate]: "2026-11-15" })
    await stage.clock.advance(SETTLE_MS)
    expect([phaseOf(authority), shown(), authority.current.signer]).toEqual(["distribute", "distribute", old])
    expect(fingerprints(authority.current.bundle)).toHaveLength(2)

    everyone(stage, authority)
    await stage.clock.advance(SETTLE_MS)
    expect([phaseOf(authority), shown()]).toEqual(["sign", "sign"])
    expect(authority.current.signer).not.toBe(old)
    expect(stage.secret.metadata.annotations?.[oldRoot]).toBe(old)
    expect(fingerprints(authority.current.bundle)).toEqual([authority.current.signer, old])

    everyone(stage, authority)
    await stage.clock.advance(24 * HOUR)
    expect(phaseOf(authority)).toBe("sign")
    await stage.clock.advance(HOUR)
    expect([phaseOf(authority), shown()]).toEqual(["retire", "retire"])
    expect(fingerprints(authority.current.bundle)).toEqual([authority.current.signer])
    expect(stage.secret.metadata.annotations?.[oldRoot]).toBeUndefined()

    everyone(stage, authority)
    await stage.clock.advance(SETTLE_MS)
    expect([phaseOf(authority), shown()]).toEqual(["steady", "steady"])
    await stage.clock.advance(24 * HOUR)
    expect(phaseOf(authority)).toBe("steady")
  })

  it("begins automatically when a fifth of the root's lifetime is left", async () => {
    const { stage, authority } = await mesh()
    stage.clock.setWall(stage.clock.now() + 8.1 * YEAR)
    await stage.clock.advance(SETTLE_MS)
    expect(phaseOf(authority)).toBe("distribute")
  })

  it.each<[string, (stage: Stage, authority: Authority) => void]>([
    ["has acknowledged nothing", stage => stage.ledger.says("foo/b", undefined, undefined)],
    [
      "lags behind",
      stage => stage.ledger.says("foo/b", { bundle: "", signer: "", revokedIdentities: [], revokedSerials: [] }, ""),
    ],
    ["has just connected", stage => stage.ledger.says("foo/c", undefined, undefined)],
  ])("waits for a proxy that %s", async (_, event) => {
    const { stage, authority } = await demanded()
    everyone(stage, authority)
    event(stage, authority)
    await stage.clock.advance(2 * HOUR)
    expect(phaseOf(authority)).toBe("distribute")
    everyone(stage, authority, ["b", "c"])
    await settle()
    expect(phaseOf(authority)).toBe("sign")
  })

  it("waits for a silent replica, whose proxies cannot be counted", async () => {
    const { stage, authority } = await demanded()
    stage.ledger.complete = false
    everyone(stage, authority)
    await stage.clock.advance(2 * HOUR)
    expect(phaseOf(authority)).toBe("distribute")
    stage.ledger.complete = true
    await stage.clock.advance(SETTLE_MS)
    expect(phaseOf(authority)).toBe("sign")
  })

  it("is not delayed by a phase that began when the clock was ahead", async () => {
    const { stage, authority } = await demanded()
    stage.clock.setWall(stage.clock.now() - YEAR / 2)
    everyone(stage, authority)
    await stage.clock.advance(2 * SETTLE_MS)
    expect(phaseOf(authority)).toBe("sign")
  })

  it("does not wait for a proxy that has disconnected", async () => {
    const { stage, authority } = await demanded()
    everyone(stage, authority, ["a"])
    await stage.clock.advance(SETTLE_MS)
    expect(phaseOf(authority)).toBe("distribute")
    stage.ledger.leaves("foo/b")
    await settle()
    expect(phaseOf(authority)).toBe("sign")
  })

  it("does not consider a mesh empty whose proxies have not reconnected yet", async () => {
    const { stage, authority, old } = await demanded()
    authority.close()
    for (const name of ["a", "b"]) stage.ledger.leaves(`foo/${name}`)
    const restarted = await stage.authority()
    restarted.rotateWith(stage.ledger)
    await stage.clock.advance(SETTLE_MS - 1)
    expect([phaseOf(restarted), restarted.current.signer]).toEqual(["distribute", old])
  })

  it("waits for a proxy with a certificate of the old root", async () => {
    const { stage, authority, old } = await signing()
    everyone(stage, authority, ["a"])
    stage.ledger.says("foo/b", authority.current, old)
    await stage.clock.advance(30 * HOUR)
    expect(phaseOf(authority)).toBe("sign")
  })

  it("keeps the old root until its last certificate expires", async () => {
    const scene = await mesh()
    const caller = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "a", proof: "token" } as const
    const signed = await scene.authority.sign(caller, makeSigningRequest().request, 24 * 3600)
    expect(signed.ok).toBe(true)
    scene.stage.annotate({ [rotate]: "1" })
    await scene.stage.clock.advance(SETTLE_MS)
    everyone(scene.stage, scene.authority)
    await scene.stage.clock.advance(SETTLE_MS)
    everyone(scene.stage, scene.authority)
    await scene.stage.clock.advance(24 * HOUR)
    expect(phaseOf(scene.authority)).toBe("sign")
    await scene.stage.clock.advance(HOUR)
    expect(phaseOf(scene.authority)).toBe("retire")
  })

  it("drops the old root at once if an annotation names it", async () => {
    const { stage, authority, old } = await signing()
    stage.annotate({ [retire]: authority.current.signer })
    await settle()
    expect(phaseOf(authority)).toBe("sign")
    stage.annotate({ [retire]: old.slice(0, 15) })
    await settle()
    expect(phaseOf(authority)).toBe("sign")
    stage.annotate({ [retire]: old.slice(0, 16).toUpperCase() })
    await settle()
    expect(phaseOf(authority)).toBe("retire")
  })

  it("signs the control plane's certificates with the old root until it retires", async () => {
    const { stage, authority, old } = await mesh()
    const serving = authority.serve("xds", ["localhost"])
    const signer = () => signerOf(serving.current.certificateChain, authority.current.bundle)
    stage.annotate({ [rotate]: "1" })
    await stage.clock.advance(SETTLE_MS)
    everyone(stage, authority)
    await stage.clock.advance(SETTLE_MS)
    expect([phaseOf(authority), signer()]).toEqual(["sign", old])
    stage.annotate({ [retire]: old })
    await settle()
    expect([phaseOf(authority), signer()]).toEqual(["retire", authority.current.signer])
  })

  it("is advanced by the leader and followed by the others", async () => {
    const stage = new Stage()
    const leader = await stage.authority()
    const follower = await stage.authority({ isLeader: () => false })
    everyone(stage, leader)
    follower.rotateWith(stage.ledger)
    stage.annotate({ [rotate]: "1" })
    await stage.clock.advance(2 * SETTLE_MS)
    expect(phaseOf(follower)).toBe("steady")
    leader.rotateWith(stage.ledger)
    await stage.clock.advance(SETTLE_MS)
    expect([phaseOf(leader), phaseOf(follower)]).toEqual(["distribute", "distribute"])
    expect(follower.current).toEqual(leader.current)
  })

  it("generates one new root if two replicas consider themselves leader", async () => {
    const stage = new Stage()
    const replicas = [await stage.authority(), await stage.authority()]
    for (const replica of replicas) replica.rotateWith(stage.ledger)
    stage.ledger.says("foo/a", undefined, undefined)
    stage.annotate({ [rotate]: "1" })
    await stage.clock.advance(SETTLE_MS)
    const [a, b] = replicas.map(({ current }) => current)
    expect(a).toEqual(b)
    expect(fingerprints(a?.bundle ?? "")).toHaveLength(2)
  })

  it("continues after a restart from the state in the Secret", async () => {
    const { stage, authority } = await signing()
    const { current } = authority
    authority.close()
    const restarted = await stage.authority()
    expect(restarted.current).toEqual(current)
    expect(phaseOf(restarted)).toBe("sign")
  })

  it("is followed by a replica that missed all of its steps", async () => {
    const stage = new Stage()
    const authority = await stage.authority()
    // A copy that shows the original Secret until it receives only the last version.
    const secrets = stage.cluster.reflect(SECRETS)
    let hear: Parameters<typeof secrets.onChange>[0] = () => undefined
    const deaf = await stage.authority({
      isLeader: () => false,
      secrets: {
        ...secrets,
        onChange(listener) {
          hear = listener
          return () => undefined
        },
      },
    })
    const old = authority.current.signer
    authority.rotateWith(stage.ledger)
    await stage.clock.advance(SETTLE_MS)
    stage.annotate({ [rotate]: "1" })
    await stage.clock.advance(3 * SETTLE_MS)
    stage.annotate({ [retire]: old })
    await stage.clock.advance(3 * SETTLE_MS)
    expect([phaseOf(authority), deaf.current.signer]).toEqual(["steady", old])
    hear({ key: SECRET_KEY, object: stage.secret, previous: undefined })
    expect(deaf.current).toEqual(authority.current)
    expect(deaf.current.signer).not.toBe(old)
  })

  it("issues certificates of the signing root, with a bundle that contains it", async () => {
    const { authority } = await signing()
    const caller = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "a", proof: "token" } as const
    const signed = await authority.sign(caller, makeSigningRequest().request, 0)
    if (!signed.ok) throw new Error(signed.message)
    const { certificateChain, trustBundle } = signed.certificate
    expect(signerOf(certificateChain, trustBundle)).toBe(authority.current.signer)
    expect(certificateFacts(certificateChain).spiffeId).toBe("spiffe://cluster.local/ns/foo/sa/a")
  })
})
