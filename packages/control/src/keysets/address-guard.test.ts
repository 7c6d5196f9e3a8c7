// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest"
import { forbiddenAddress } from "./address-guard.js"

describe("never fetched from", () => {
  test.each([
    ["169.254.169.254", "the metadata service of a cloud"],
    ["100.100.100.200", "the metadata service of a cloud"],
    ["fd00:ec2::254", "the metadata service of a cloud"],
    ["169.254.0.1", "a link-local address"],
    ["fe80::1", "a link-local address"],
    ["febf::1", "a link-local address"],
    ["::ffff:169.254.169.254", "the metadata service of a cloud"],
    ["::ffff:a9fe:a9fe", "the metadata service of a cloud"],
    ["::169.254.169.254", "the metadata service of a cloud"],
    ["64:ff9b::169.254.169.254", "the metadata service of a cloud"],
    ["2002:a9fe:a9fe::1", "the metadata service of a cloud"],
    ["0.0.0.0", "an unspecified address"],
    ["0.1.2.3", "an unspecified address"],
    ["::", "an unspecified address"],
    ["224.0.0.1", "a multicast address"],
    ["ff02::1", "a multicast address"],
    ["255.255.255.255", "a broadcast or reserved address"],
    ["fe80::1%eth0", "not a valid address"],
    ["", "not a valid address"],
  ])("%s: %s", (address, what) => {
    expect(forbiddenAddress(address)).toBe(what)
  })
})

describe("fetched from, unless private addresses are denied", () => {
  test.each(["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fd12::1", "::ffff:10.0.0.1"])(
    "%s",
    address => {
      expect(forbiddenAddress(address)).toBeUndefined()
      expect(forbiddenAddress(address, { denyPrivateAddresses: true })).toBe("a private address")
    },
  )
})

test.each(["8.8.8.8", "172.32.0.1", "169.253.255.255", "2001:4860:4860::8888", "64:ff9b::8.8.8.8", "fec1:0:0::1"])(
  "%s is allowed",
  address => {
    expect(forbiddenAddress(address)).toBeUndefined()
  },
)

describe("fetched from only if the mesh allows loopback", () => {
  test.each(["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])("%s", address => {
    expect(forbiddenAddress(address)).toBe("a loopback address")
    expect(forbiddenAddress(address, { allowLoopback: true })).toBeUndefined()
    expect(forbiddenAddress(address, { allowLoopback: true, denyPrivateAddresses: true })).toBeUndefined()
  })
})
