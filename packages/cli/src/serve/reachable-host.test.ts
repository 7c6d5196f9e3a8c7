// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { reachableHost, urlHost } from "./reachable-host.js"

it.each([
  ["127.0.0.1", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
  ["0:0:0:0:0:0:0:0", "[::1]"],
  ["::1", "[::1]"],
  ["10.0.0.5", "10.0.0.5"],
  ["mesh.example", "mesh.example"],
])("a listener on %s is reached at %s", (listen, host) => {
  expect(urlHost(reachableHost(listen))).toBe(host)
})
