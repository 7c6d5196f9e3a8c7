// SPDX-License-Identifier: Apache-2.0
import { parseIp, spiffeId } from "@merlon/policy/request"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Gateways, lastAddress, lastClientIdentity } from "./gateway-trust.js"

const CART = "spiffe://cluster.local/ns/shop/sa/cart"
const BANK = "spiffe://cluster.local/ns/shop/sa/bank"
const ip = (text: string) => {
  const address = parseIp(text)
  if (address === undefined) throw new Error(text)
  return address
}

describe("gateways", () => {
  const gateways = new Gateways(["10.1.0.0/16", "::1", "cluster.local/ns/edge/sa/gateway"])
  it.each([
    ["an address of a block", undefined, "10.1.2.3", true],
    ["the same address in IPv6 form", undefined, "::ffff:10.1.2.3", true],
    ["a single address", undefined, "::1", true],
    ["another address", undefined, "10.2.0.1", false],
    ["a principal at any address", spiffeId("cluster.local", "edge", "gateway"), "10.9.0.1", true],
    ["another principal", spiffeId("cluster.local", "edge", "other"), "10.9.0.1", false],
  ])("checks %s", (_, peer, address, known) => {
    expect(gateways.has(peer, ip(address))).toBe(known)
  })

  it("are addresses, blocks or principals", () => {
    expect(() => new Gateways(["gateway"])).toThrow("`gateway` is not an address")
  })
})

describe("the caller in x-forwarded-client-cert", () => {
  it.each([
    ["absent", undefined, undefined],
    ["one element", [`Hash=ab;URI=${CART}`], CART],
    ["the last element, which the gateway appended", [`URI=${BANK},By=x;URI=${CART}`], CART],
    ["the last of several lines", [`URI=${BANK}`, `URI=${CART}`], CART],
    ["quoted separators", [`Subject="CN=a;URI=${BANK},b";URI=${CART}`], CART],
    ["an escaped quote", [`Subject="a\\";URI=${BANK}";URI=${CART}`], CART],
    ["a quoted value", [`URI="${CART}"`], CART],
    ["no URI", ["Hash=ab"], undefined],
    ["two URIs", [`URI=${CART};URI=${BANK}`], "malformed"],
    ["no value", [""], undefined],
    ["blanks around", [` URI=${CART} `], CART],
    ["a caller's quote that ends in the gateway's", [`URI=${BANK};A="`, `By=x;Subject="CN=\\"x\\""`], "malformed"],
    ["a caller's quote in a value", [`URI=${BANK};A=b"`, 'By=x;Subject="CN=x"'], "malformed"],
    ["text after a quote", [`Subject="a"b;URI=${CART}`], "malformed"],
    ["an open quote", [`Subject="a;URI=${CART}`], "malformed"],
    ["another kind of name", ["URI=https://cart.example"], "malformed"],
  ])("%s", (_, lines, expected) => {
    const found = lastClientIdentity(lines)
    expect(typeof found === "object" ? found.uri : found).toBe(expected)
  })

  it("reads any text without throwing, and never an identity that is not in it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom("URI=", ";", ",", '"', "\\", "a", CART, BANK) })),
        lines => {
          const found = lastClientIdentity(lines)
          if (typeof found === "object") expect(lines.join(",")).toContain(found.uri)
        },
      ),
    )
  })
})

it("uses the last entry of a list of addresses", () => {
  expect(lastAddress(["1.2.3.4, 10.0.0.1", "10.0.0.2"])?.text).toBe("10.0.0.2")
  expect(lastAddress(["1.2.3.4, unknown"])).toBeUndefined()
  expect(lastAddress(undefined)).toBeUndefined()
})
