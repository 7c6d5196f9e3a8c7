// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ownAddress, ownPlace } from "./own-address.js"

it("gives each workload of this machine an address of its own, always the same", () => {
  const place = ownPlace({ controlPlane: "127.0.0.1:15012" }, "uid-1", "linux")
  const address = ownAddress("uid-1")
  expect(place).toMatchObject({ address, listen: address, admin: `${address}:15000`, health: `${address}:15021` })
  expect(address).toMatch(/^127\.(6[4-9]|[7-9]\d|1\d\d)\.\d+\.\d+$/)
  expect(ownAddress("uid-2")).not.toBe(address)
})

it.each([
  [{ controlPlane: "10.0.0.1:15012" }, "linux"],
  [{ controlPlane: "127.0.0.1:15012", listen: "0.0.0.0" }, "linux"],
  [{ controlPlane: "localhost:15012", address: "10.0.0.7" }, "linux"],
  [{ controlPlane: "127.0.0.1:15012" }, "darwin"],
] as const)("leaves %j on %s as it is", (place, platform) => {
  expect(ownPlace(place, "uid-1", platform)).toBe(place)
})
