// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { ConnectionLimiter } from "./connection-limiter.js"

/** A limiter whose connections are named in the order in which they arrived. */
function rig(connections: number, sharePercent: number) {
  const limiter = new ConnectionLimiter({ connections, sharePercent })
  const closed: string[] = []
  let count = 0
  return {
    limiter,
    closed,
    admit: (address: string) => {
      const name = `${address}${count++}`
      return limiter.admit(address, () => void closed.push(name))
    },
  }
}

describe("a full listener", () => {
  it("closes the oldest idle connection of the address with most", () => {
    const { admit, closed } = rig(4, 100)
    for (const address of ["b", "a", "a", "a"]) admit(address)
    expect(admit("kubelet")).toBeDefined()
    expect(closed).toEqual(["a1"])
  })

  it("does not close a connection of the same address while another address has as many", () => {
    const { admit, closed } = rig(3, 50)
    for (const address of ["a", "b", "kubelet"]) admit(address)
    expect(admit("kubelet")).toBeDefined()
    expect(closed).toEqual(["a0"])
    expect(admit("kubelet")).toBeDefined()
    expect(closed).toEqual(["a0", "kubelet2"])
  })

  it("rejects a new connection if all others are busy", () => {
    const { admit, closed } = rig(2, 100)
    for (const address of ["a", "a"]) admit(address)?.busy()
    expect(admit("kubelet")).toBeUndefined()
    expect(closed).toEqual([])
  })

  it("closes a connection that is idle again", () => {
    const { admit, closed } = rig(1, 100)
    const slot = admit("a")
    slot?.busy()
    slot?.busy()
    slot?.idle()
    expect(admit("b")).toBeUndefined()
    slot?.idle()
    expect(admit("b")).toBeDefined()
    expect(closed).toEqual(["a0"])
  })
})

describe("an address that has used up its share", () => {
  it("loses its own oldest idle connection", () => {
    const { admit, closed, limiter } = rig(8, 50)
    admit("b")
    for (let n = 0; n < 20; n++) expect(admit("a")).toBeDefined()
    expect(closed.slice(0, 2)).toEqual(["a1", "a2"])
    expect(closed.every(name => name.startsWith("a"))).toBe(true)
    expect(limiter.open).toBeLessThan(8)
  })

  it("gets no more while all of its connections are busy", () => {
    const { admit, closed } = rig(8, 50)
    for (let n = 0; n < 4; n++) admit("a")?.busy()
    expect(admit("a")).toBeUndefined()
    expect(admit("b")).toBeDefined()
    expect(closed).toEqual([])
  })
})

it("never exceeds its limit, and admits a new address while others are idle", () => {
  const step = fc.record({
    address: fc.constantFrom("a", "b", "c", "d"),
    act: fc.constantFrom("admit", "admit", "admit", "busy", "idle", "release"),
    pick: fc.nat(),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      const limiter = new ConnectionLimiter({ connections: most, sharePercent: 50 })
      const live: { slot: ReturnType<ConnectionLimiter["admit"]>; address: string; busy: number; open: boolean }[] = []
      for (const { address, act, pick } of steps) {
        const open = live.filter(one => one.open)
        const chosen = open[pick % Math.max(open.length, 1)]
        if (act === "admit") {
          const one = { slot: undefined as ReturnType<ConnectionLimiter["admit"]>, address, busy: 0, open: true }
          const isNew = !open.some(other => other.address === address)
          const canMakeRoom = open.length < most || open.some(other => other.busy === 0)
          one.slot = limiter.admit(address, () => {
            expect(one.busy).toBe(0)
            one.open = false
          })
          if (isNew && canMakeRoom) expect(one.slot).toBeDefined()
          if (one.slot !== undefined) live.push(one)
        } else if (chosen !== undefined && act === "release") {
          chosen.slot?.release()
          chosen.open = false
        } else if (chosen !== undefined && act === "busy") {
          chosen.slot?.busy()
          chosen.busy++
        } else if (chosen !== undefined && chosen.busy > 0) {
          chosen.slot?.idle()
          chosen.busy--
        }
        expect(limiter.open).toBe(live.filter(one => one.open).length)
        expect(limiter.open).toBeLessThanOrEqual(most)
      }
    }),
    { numRuns: 300 * inject("effort") },
  )
})
