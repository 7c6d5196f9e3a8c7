// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { ApiError, type KubernetesClient } from "./client.js"
import { LeaderElection } from "./lease.js"
import type { KubernetesObject } from "./resource-type.js"
import { VirtualTime } from "./testing/virtual-time.js"
import { pause } from "./time.js"

type Fate = { readonly before: number; readonly after: number; readonly error: "none" | "lost" | "unanswered" }

const NO_FATE: Fate = { before: 0, after: 0, error: "none" }

/**
 * One Lease in memory, with the resource versions of a real server. A request may be slow or lost, and so may its
 * answer.
 */
class LeaseServer {
  lease: KubernetesObject | undefined
  /** Number of reads. */
  read = 0
  #version = 0

  constructor(readonly time: VirtualTime) {}

  client(fate: () => Fate): KubernetesClient {
    const ask = async <T>(act: () => T): Promise<T> => {
      const { before, after, error } = fate()
      if (before > 0) await pause(this.time, before)
      if (error === "lost") throw new ApiError(0, "api-unreachable", "lost")
      const result = act()
      if (after > 0) await pause(this.time, after)
      if (error === "unanswered") throw new ApiError(0, "api-timeout", "no answer")
      return result
    }
    const store = (object: KubernetesObject): KubernetesObject => {
      const { resourceVersion } = object.metadata
      if (resourceVersion !== undefined && this.lease === undefined)
        throw new ApiError(404, "NotFound", "no such lease")
      if (resourceVersion !== this.lease?.metadata.resourceVersion) throw new ApiError(409, "Conflict", "changed")
      this.lease = { ...object, metadata: { ...object.metadata, uid: "u", resourceVersion: String(++this.#version) } }
      return this.lease
    }
    const never = (): never => {
      throw new Error("not asked of a lease")
    }
    // The interface is generic; the only object here is a Lease.
    return {
      get: () =>
        ask(() => {
          this.read++
          return this.lease
        }),
      create: (_type: unknown, object: KubernetesObject) => ask(() => store(object)),
      replace: (_type: unknown, object: KubernetesObject) => ask(() => store(object)),
      list: never,
      patch: never,
      delete: never,
      createSubresource: never,
      watch: never,
    } as unknown as KubernetesClient
  }
}

function candidate(server: LeaseServer, identity: string, fate: () => Fate = () => NO_FATE): LeaderElection {
  const { time } = server
  const client = server.client(fate)
  return new LeaderElection({ client, namespace: "merlon-system", name: "merlond", identity, time, random: () => 0.5 })
}

describe("leader election", () => {
  it("elects the first, and the second as soon as the first releases the Lease", async () => {
    const server = new LeaseServer(new VirtualTime())
    const [a, b] = [candidate(server, "a"), candidate(server, "b")]
    const received: boolean[] = []
    a.onChange(leader => received.push(leader))
    a.start()
    await server.time.advance(1)
    b.start()
    await server.time.advance(60_000)
    expect([a.isLeader, b.isLeader]).toEqual([true, false])
    await a.stop()
    expect(a.isLeader).toBe(false)
    await server.time.advance(3_000)
    expect(b.isLeader).toBe(true)
    expect(received).toEqual([true, false])
    await b.stop()
  })

  it("reads a Lease before acquiring it, and not before renewing it", async () => {
    const server = new LeaseServer(new VirtualTime())
    const a = candidate(server, "a")
    a.start()
    await server.time.advance(60_000)
    expect([a.isLeader, server.read]).toEqual([true, 1])
    await a.stop()
  })

  it.each<[string, (lease: KubernetesObject) => KubernetesObject | undefined, boolean]>([
    ["stays leader if another process wrote other fields", lease => lease, true],
    ["stays leader if the Lease was deleted", () => undefined, true],
    [
      "steps down if another holder was written",
      lease => ({ ...lease, spec: { ...Object(lease.spec), holderIdentity: "b" } }),
      false,
    ],
  ])("%s, at its next renewal", async (_, change, leads) => {
    const server = new LeaseServer(new VirtualTime())
    const a = candidate(server, "a")
    a.start()
    await server.time.advance(5_000)
    const { lease } = server
    if (lease === undefined) throw new Error("nobody took the lease")
    const metadata = { ...lease.metadata, resourceVersion: "touched" }
    server.lease = change({ ...lease, metadata })
    await server.time.advance(2_001)
    expect(a.isLeader).toBe(leads)
    expect(server.lease).toMatchObject({ spec: { holderIdentity: leads ? "a" : "b" } })
    await a.stop()
  })

  it("waits the whole duration for a holder that vanished", async () => {
    const server = new LeaseServer(new VirtualTime())
    let cut = false
    const a = candidate(server, "a", () => (cut ? { ...NO_FATE, error: "lost" } : NO_FATE))
    const b = candidate(server, "b")
    a.start()
    await server.time.advance(1)
    b.start()
    await server.time.advance(10_000)
    cut = true
    await server.time.advance(10_001)
    expect([a.isLeader, b.isLeader]).toEqual([false, false])
    await server.time.advance(10_000)
    expect([a.isLeader, b.isLeader]).toEqual([false, true])
    await Promise.all([a.stop(), b.stop()])
  })

  it("does not wait for a holder that is known to have stopped, only for others", async () => {
    const server = new LeaseServer(new VirtualTime())
    const { time } = server
    const successor = (identity: string): LeaderElection =>
      new LeaderElection({
        client: server.client(() => NO_FATE),
        namespace: "merlon-system",
        name: "merlond",
        identity,
        isOver: holder => holder.startsWith("embedded/"),
        time,
        random: () => 0.5,
      })
    for (const [holder, leads] of [
      ["embedded/1", true],
      ["a", false],
    ] as const) {
      server.lease = undefined
      const vanished = candidate(server, holder)
      vanished.start()
      await time.advance(1)
      const { lease } = server
      await vanished.stop()
      server.lease = lease
      const next = successor("embedded/2")
      next.start()
      await time.advance(1)
      expect(next.isLeader).toBe(leads)
      await next.stop()
    }
  })

  it("ignores the wall clock: waits for a Lease from the far past or future too", async () => {
    for (const renewTime of ["1999-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"]) {
      const server = new LeaseServer(new VirtualTime(Date.UTC(2026, 0)))
      server.lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "merlond", namespace: "merlon-system", uid: "u", resourceVersion: "x" },
        spec: { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime },
      }
      const a = candidate(server, "a")
      a.start()
      await server.time.advance(14_000)
      expect(a.isLeader).toBe(false)
      await server.time.advance(5_000)
      expect(a.isLeader).toBe(true)
      await a.stop()
    }
  })

  it("never has two leaders, whatever is slow or lost", async () => {
    const fate = fc.record({
      before: fc.nat(12_000),
      after: fc.nat(12_000),
      error: fc.constantFrom("none" as const, "none" as const, "none" as const, "lost" as const, "unanswered" as const),
    })
    const fates = fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(NO_FATE) }, fate), { maxLength: 40 })
    let led = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fates, { minLength: 2, maxLength: 3 }), fc.nat(60_000), async (all, stopAt) => {
        const server = new LeaseServer(new VirtualTime())
        const candidates = all.map((own, index) => candidate(server, `c${index}`, () => own.shift() ?? NO_FATE))
        const check = (): void => {
          const leaders = candidates.filter(({ isLeader }) => isLeader).length
          led += leaders
          expect(leaders).toBeLessThan(2)
        }
        for (const one of candidates) one.start()
        await server.time.advance(stopAt, check)
        const stopped = candidates[0]?.stop()
        await server.time.advance(60_000, check)
        const ended = Promise.all([stopped, ...candidates.map(one => one.stop())])
        await server.time.advance(100_000, check)
        await ended
      }),
      { numRuns: 60 * inject("effort") },
    )
    expect(led).toBeGreaterThan(0)
  })
})
