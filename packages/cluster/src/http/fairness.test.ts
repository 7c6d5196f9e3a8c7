// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of shares: what one user, all users and the system may take, and which connection is closed at the
// limit.

import { EventEmitter } from "node:events"
import type { Socket } from "node:net"
import { Quota } from "@merlon/wire/limits"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ApiError } from "../meta/status.js"
import { Backlog, type Waiting } from "./backlog.js"
import { Connections } from "./connections.js"
import { Fairness } from "./fairness.js"
import { defaultLimits } from "./limits.js"
import { type Share, shareOf } from "./share.js"

const user = (owner: string): Share => ({ owner, system: false })
const system: Share = { owner: "control", system: true }

describe("the owner of a share", () => {
  const of = (name: string, ...groups: string[]): Share =>
    shareOf({ name, uid: "", groups, extra: {} }, new Set(["kube-system"]))

  it.each<[string, Share, Share]>([
    ["is the user", of("jane", "system:authenticated"), { owner: "jane", system: false }],
    ["is the system for administrators", of("admin", "system:masters"), { owner: "admin", system: true }],
    [
      "is the namespace for service accounts, so new accounts do not add shares",
      of("system:serviceaccount:shop:a"),
      of("system:serviceaccount:shop:b"),
    ],
    [
      "is the system for service accounts of a system namespace",
      of("system:serviceaccount:kube-system:a"),
      { owner: "system:serviceaccounts:kube-system", system: true },
    ],
    [
      "is not the system for a group with a similar name",
      of("jane", "system:masters-to-be", "system:serviceaccounts:kube-system"),
      { owner: "jane", system: false },
    ],
  ])("%s", (_, got, want) => expect(got).toEqual(want))
})

describe("a quota", () => {
  it("limits one user to its share, all users to the unreserved part, and the system to everything", () => {
    const quota = new Quota({ all: 10, each: 4, kept: 2 })
    const take = (share: Share): number => {
      let n = 0
      while (quota.take(share.owner, 1, share.system)) n++
      return n
    }
    expect(take(user("a"))).toBe(4)
    expect(take(user("b"))).toBe(4)
    expect(take(user("c"))).toBe(0)
    expect(take(system)).toBe(2)
    quota.release(user("a").owner, 4)
    expect(take(user("a"))).toBe(2)
  })

  it("never gives out more than the total", () => {
    const step = fc.record({ owner: fc.constantFrom("a", "b", "control"), amount: fc.integer({ min: 1, max: 6 }) })
    fc.assert(
      fc.property(fc.array(fc.record({ step, back: fc.boolean() })), steps => {
        const bounds = { all: 20, each: 7, kept: 5 }
        const quota = new Quota(bounds)
        const held: { share: Share; amount: number }[] = []
        for (const { step: want, back } of steps) {
          const oldest = back ? held.shift() : undefined
          if (oldest !== undefined) quota.release(oldest.share.owner, oldest.amount)
          const share = want.owner === "control" ? system : user(want.owner)
          if (quota.take(share.owner, want.amount, share.system)) held.push({ share, amount: want.amount })
          const sum = (of: (share: Share) => boolean): number =>
            held.filter(item => of(item.share)).reduce((total, item) => total + item.amount, 0)
          expect(quota.used).toBe(sum(() => true))
          expect(quota.used).toBeLessThanOrEqual(bounds.all)
          for (const name of ["a", "b"]) expect(sum(item => item.owner === name)).toBeLessThanOrEqual(bounds.each)
        }
      }),
    )
  })

  it("frees a slot once, however often it is released", () => {
    const fairness = new Fairness({ ...defaultLimits, writesInFlight: 1, writesKept: 0 })
    const leave = fairness.enter(user("a"), true)
    leave()
    leave()
    fairness.enter(user("a"), true)
    expect(() => fairness.enter(user("a"), true)).toThrow(ApiError)
    expect(fairness.load.writes).toBe(1)
  })
})

class Pile implements Waiting {
  pending = 0
  dropped = false

  constructor(
    readonly share: Share,
    readonly backlog: Backlog,
  ) {}

  push(bytes: number): void {
    if (this.dropped) return
    this.pending += bytes
    this.backlog.changed(this)
  }

  drop(): void {
    this.dropped = true
    this.pending = 0
    this.backlog.changed(this)
  }
}

describe("the backlog", () => {
  it("drops the largest outbox of a user whose outboxes exceed its share", () => {
    const backlog = new Backlog({ all: 1000, each: 100 })
    const [small, large] = [new Pile(user("a"), backlog), new Pile(user("a"), backlog)]
    large.push(70)
    small.push(30)
    expect(large.dropped).toBe(false)
    small.push(1)
    expect([small.dropped, large.dropped]).toEqual([false, true])
    expect(backlog.bytes).toBe(31)
  })

  it("drops an outbox of the user with the most bytes, and of the system last", () => {
    const backlog = new Backlog({ all: 100, each: 90 })
    const [own, a, b] = [new Pile(system, backlog), new Pile(user("a"), backlog), new Pile(user("b"), backlog)]
    own.push(60)
    a.push(10)
    b.push(30)
    a.push(1)
    expect([own.dropped, a.dropped, b.dropped]).toEqual([false, false, true])
    own.push(40)
    expect([own.dropped, a.dropped]).toEqual([false, true])
  })

  it("accepts a user's first response of any size, and a second one within its share", () => {
    const backlog = new Backlog({ all: 100, each: 50 })
    expect(backlog.hasRoom(user("a"), 1000)).toBe(true)
    const pile = new Pile(user("a"), backlog)
    pile.push(30)
    expect(backlog.hasRoom(user("a"), 20)).toBe(true)
    expect(backlog.hasRoom(user("a"), 21)).toBe(false)
    expect(backlog.hasRoom(system, 1000)).toBe(true)
    pile.drop()
    expect(backlog.hasRoom(user("a"), 1000)).toBe(true)
  })

  it("stays within its bounds, except for a single reader", () => {
    const owners = [user("a"), user("b"), system]
    const push = fc.record({ owner: fc.nat(2), reader: fc.nat(2), bytes: fc.integer({ min: 1, max: 60 }) })
    fc.assert(
      fc.property(fc.array(push), pushes => {
        const backlog = new Backlog({ all: 200, each: 80 })
        const piles = owners.map(share => [0, 1, 2].map(() => new Pile(share, backlog)))
        for (const { owner, reader, bytes } of pushes) {
          piles[owner]?.[reader]?.push(bytes)
          const waiting = piles.flat().filter(pile => pile.pending > 0)
          expect(backlog.bytes).toBe(waiting.reduce((sum, pile) => sum + pile.pending, 0))
          if (waiting.length > 1) expect(backlog.bytes).toBeLessThanOrEqual(200)
          for (const name of ["a", "b"]) {
            const own = waiting.filter(pile => pile.share.owner === name)
            if (own.length > 1) expect(own.reduce((sum, pile) => sum + pile.pending, 0)).toBeLessThanOrEqual(80)
          }
        }
      }),
    )
  })
})

describe("connections over the limit", () => {
  let port = 0
  const open = (connections: Connections, log: string[], name: string): Socket => {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress: "10.0.0.1",
      remotePort: ++port,
      destroy: () => {
        log.push(name)
        socket.emit("close")
      },
    })
    // The test implements the parts of a socket that are used.
    connections.opened(socket as unknown as Socket)
    return socket as unknown as Socket
  }

  it("close the longest idle connection of the user with the most", () => {
    const closed: string[] = []
    const connections = new Connections(4)
    const leader = open(connections, closed, "leader")
    connections.serving(leader, system)()
    const busy = open(connections, closed, "busy")
    connections.serving(busy, user("a"))
    const idle = open(connections, closed, "idle")
    connections.serving(idle, user("a"))()
    connections.serving(open(connections, closed, "other"), user("b"))()
    open(connections, closed, "new")
    expect(closed).toEqual(["idle"])
    expect(connections.count).toBe(4)
  })

  it("never close one of the system while others have any", () => {
    const closed: string[] = []
    const connections = new Connections(2)
    for (const name of ["one", "two"]) connections.serving(open(connections, closed, name), system)()
    open(connections, closed, "stranger")
    expect(closed).toEqual(["stranger"])
  })
})
