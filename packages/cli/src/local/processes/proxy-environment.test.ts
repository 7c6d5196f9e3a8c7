// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { childEnvironment } from "./child-environment.js"
import { withProxyEnvironment } from "./proxy-environment.js"

const PLACE = { address: "127.1.0.4", outbound: 15_001 }
const URL = "http://127.1.0.4:15001"

it("sends the calls of a program to the proxy of its workload", () => {
  expect(withProxyEnvironment({ PATH: "/bin" }, PLACE)).toEqual({
    PATH: "/bin",
    http_proxy: URL,
    HTTP_PROXY: URL,
    grpc_proxy: URL,
    NODE_USE_ENV_PROXY: "1",
    no_proxy: expect.stringContaining("localhost"),
    NO_PROXY: expect.stringContaining("127.0.0.0/8"),
    MERLON_HTTP_PROXY: URL,
  })
})

it.each([
  [{ http_proxy: "http://proxy.example:3128" }],
  [{ HTTP_PROXY: "http://proxy.example:3128" }],
  [{ http_proxy: "" }],
])("keeps the proxy that the user set: %j", set => {
  const { http_proxy, HTTP_PROXY } = withProxyEnvironment(set, PLACE)
  expect({ http_proxy, HTTP_PROXY }).toEqual({ http_proxy: undefined, HTTP_PROXY: undefined, ...set })
})

it("keeps other variables that the user set", () => {
  const set = { no_proxy: "example.com", grpc_proxy: "http://proxy.example:3128", NODE_USE_ENV_PROXY: "0" }
  expect(withProxyEnvironment(set, PLACE)).toMatchObject({ ...set, http_proxy: URL })
})

it("changes nothing if the proxy accepts no calls", () => {
  expect(withProxyEnvironment({ PATH: "/bin" }, { address: "127.1.0.4" })).toEqual({ PATH: "/bin" })
})

it("does not pass the proxy of one workload on to another", () => {
  const outer = withProxyEnvironment({ PATH: "/bin" }, PLACE)
  const inner = withProxyEnvironment(childEnvironment(outer), { address: "127.1.0.1", outbound: 15_001 })
  expect(inner).toMatchObject({ http_proxy: "http://127.1.0.1:15001", grpc_proxy: "http://127.1.0.1:15001" })
  expect(Object.values(inner)).not.toContain(URL)
})
