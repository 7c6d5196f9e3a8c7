// SPDX-License-Identifier: Apache-2.0
import type { CalledDestination } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { MemoryDirectory } from "../routes/testing/memory-directory.js"
import { service, workload } from "../routes/testing/mesh.js"
import { mergedDestinations, placedDestination, readDestinations, type WorkloadDestination } from "./destinations.js"
import { WorkloadNames } from "./workload-names.js"

const CALLED: CalledDestination = {
  ...{ destination: "web.app:80", inMesh: true, transport: "mtls", count: 2, failures: 1 },
  ...{ firstSeen: 1_000, lastSeen: 2_000 },
}

const directory = new MemoryDirectory()
directory.setWorkload("app/web-1", workload("web-1", { addresses: ["10.0.0.1"] }))
directory.setWorkload("app/db-1", workload("db-1", { addresses: ["10.0.0.2"], proxied: false }))
directory.setService(service("db", { addresses: ["10.96.0.2"] }))
const registered = { names: new WorkloadNames(directory), directory, now: 5_000 }

function placed(part: Partial<CalledDestination>): WorkloadDestination {
  return placedDestination("app/shop-1", { ...CALLED, ...part }, registered)
}

describe("a destination", () => {
  it.each<[string, Partial<CalledDestination>, Partial<WorkloadDestination>]>([
    ["in the mesh", { workload: "app/web-1" }, { place: "mesh", to: "app/web-1" }],
    ["for a Pod that the registry does not know", { workload: "bar/invented" }, { place: "mesh" }],
    ["without a proxy", { inMesh: false, destination: "10.0.0.2:80" }, { place: "cluster", to: "app/db-1" }],
    ["for a Service without a proxy", { inMesh: false, destination: "10.96.0.2:80" }, { place: "cluster" }],
    ["outside of the cluster", { inMesh: false, destination: "192.0.2.1:80" }, { place: "outside" }],
    ["by a name outside of the mesh", { inMesh: false, destination: "example.com:443" }, { place: "outside" }],
    ["over IPv6", { inMesh: false, destination: "[2001:db8::1]:80" }, { place: "outside" }],
  ])("%s is classified", (_, part, expected) => {
    const { place, to, workload } = placed(part)
    expect({ place, to, workload }).toEqual({ to: undefined, workload: "app/shop-1", ...expected })
  })

  it("has no time in the future", () => {
    expect(placed({ lastSeen: 9_000 })).toMatchObject({ lastSeen: "1970-01-01T00:00:05.000Z" })
  })
})

describe("destinations of several Pods", () => {
  it("are added up, with the details of the last call", () => {
    const older = placed({ lastStatus: 403, lastDecision: "d", lastFailure: "unreachable", lastSeen: 1_500 })
    const newer = placed({ lastStatus: 200, firstSeen: 500 })
    const other = placed({ transport: "plaintext", lastSeen: 3_000 })
    expect(mergedDestinations([newer, older, other])).toMatchObject([
      { transport: "plaintext", count: 2 },
      {
        ...{ transport: "mtls", count: 4, failures: 2, lastStatus: 200, lastFailure: "unreachable" },
        ...{ firstSeen: "1970-01-01T00:00:00.500Z", lastSeen: "1970-01-01T00:00:02.000Z" },
      },
    ])
  })

  it("are read from another replica, without malformed entries", () => {
    const good = placed({})
    const bad = [null, "x", { ...good, transport: "pigeon" }, { ...good, place: "moon" }, { ...good, count: "many" }]
    expect(readDestinations([...bad, { ...good, workload: 7 }, good])).toEqual([good])
    expect(readDestinations("x")).toEqual([])
  })
})
