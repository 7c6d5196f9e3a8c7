// SPDX-License-Identifier: Apache-2.0
import { BlockList, isIP, isIPv4 } from "node:net"
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { CidrIndex } from "./cidr-index.js"
import { parseCidr, parseIp } from "./ip.js"

describe("parseIp", () => {
  test.each([
    ["10.0.0.1", 4],
    ["255.255.255.255", 4],
    ["::1", 6],
    ["::", 6],
    ["2001:db8::8:800:200c:417a", 6],
    ["1:2:3:4:5:6:7:8", 6],
    ["1:2:3:4:5:6:1.2.3.4", 6],
    ["64:ff9b::10.0.0.1", 6],
    ["::ffff:10.0.0.1", 4],
    ["::FFFF:0a00:0001", 4],
  ])("reads %s as family %d", (text, family) => {
    expect(parseIp(text)?.family).toBe(family)
  })

  test.each([
    "",
    "10.0.0",
    "10.0.0.256",
    "010.0.0.1",
    "10.0.0.1 ",
    "1:2:3:4:5:6:7",
    "1::2::3",
    "1:2:3:4::5:6:7:8",
    ":::",
    "1:2:3:4:5:6:7:8:9",
    "::1%eth0",
    "12345::",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::1.2.3",
    "g::",
    "x".repeat(100_000),
  ])("rejects %s", text => {
    expect(parseIp(text)).toBeUndefined()
  })

  it("agrees with Node's own parser on what is an address", () => {
    const piece = fc.constantFrom("0", "1", "ff", "ffff", "12345", ":", "::", ".", "1.2.3.4", "255", "256", "01")
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), pieces => {
        const text = pieces.join("")
        expect(parseIp(text) !== undefined).toBe(isIP(text) !== 0)
      }),
      { numRuns: 5_000 * inject("effort") },
    )
  })

  it("treats a mapped address as the address it contains", () => {
    expect(parseIp("::ffff:10.1.2.3")?.words).toEqual(parseIp("10.1.2.3")?.words)
  })
})

describe("parseCidr", () => {
  test.each([
    ["10.0.0.0/8", 4, 8],
    ["10.1.2.3", 4, 32],
    ["0.0.0.0/0", 4, 0],
    ["2001:db8::/32", 6, 32],
    ["::1", 6, 128],
    ["::ffff:10.0.0.0/104", 4, 8],
  ])("reads %s", (text, family, bits) => {
    const cidr = parseCidr(text)
    expect([cidr?.address.family, cidr?.bits]).toEqual([family, bits])
  })

  test.each(["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1", "::/129", "10.0.0.0/8/8", "::ffff:10.0.0.0/8"])(
    "rejects %s",
    text => {
      expect(parseCidr(text)).toBeUndefined()
    },
  )
})

describe("CidrIndex", () => {
  const v4 = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
  const v6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }))

  it("agrees with Node's BlockList", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(v4, v6), { maxLength: 8 }), fc.oneof(fc.ipV4(), fc.ipV6()), (blocks, address) => {
        const parsed = parseIp(address)
        fc.pre(parsed !== undefined && (isIPv4(address) ? parsed.family === 4 : parsed.family === 6))
        const index = new CidrIndex<true>()
        const oracle = new BlockList()
        for (const [base, bits] of blocks) {
          const cidr = parseCidr(`${base}/${bits}`)
          if (cidr === undefined || (cidr.address.family === 6) === isIPv4(base)) continue
          index.entry(cidr, () => true)
          // In Node, an IPv6 block can contain IPv4 addresses; in a policy the families must match.
          if (isIPv4(base) !== isIPv4(address)) continue
          oracle.addSubnet(base, bits, isIPv4(base) ? "ipv4" : "ipv6")
        }
        const found = index.some(parsed, () => true)
        expect(found).toBe(oracle.check(address, isIPv4(address) ? "ipv4" : "ipv6"))
      }),
      { numRuns: 2_000 * inject("effort") },
    )
  })
})
