// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import { parseSpiffeId, spiffeId } from "./spiffe-id.js"

it("parses an identity into its parts", () => {
  expect(parseSpiffeId("spiffe://cluster.local/ns/foo/sa/httpbin")).toEqual({
    uri: "spiffe://cluster.local/ns/foo/sa/httpbin",
    principal: "cluster.local/ns/foo/sa/httpbin",
    trustDomain: "cluster.local",
    namespace: "foo",
    serviceAccount: "httpbin",
  })
})

test.each([
  "",
  "spiffe://",
  "https://cluster.local/ns/foo/sa/a",
  "SPIFFE://cluster.local/ns/foo/sa/a",
  "spiffe://cluster.local/ns/foo/sa",
  "spiffe://cluster.local/ns/foo/sa/",
  "spiffe://cluster.local/ns/foo/sa/a/b",
  "spiffe://cluster.local/sa/foo/ns/a",
  "spiffe://cluster.local/ns/foo/user/a",
  "spiffe://cluster.local/namespace/foo/sa/a",
  "spiffe:///ns/foo/sa/a",
  "spiffe://Cluster.local/ns/foo/sa/a",
  "spiffe://cluster.local/ns/../sa/a",
  "spiffe://cluster.local/ns/f%6fo/sa/a",
  "spiffe://cluster.local/ns/foo/sa/a?x",
  "spiffe://user@cluster.local/ns/foo/sa/a",
  `spiffe://cluster.local/ns/foo/sa/${"a".repeat(3000)}`,
])("rejects %s", uri => {
  expect(parseSpiffeId(uri)).toBeUndefined()
})

it("creates no identity that it could not parse", () => {
  expect(spiffeId("cluster.local", "foo", "a").uri).toBe("spiffe://cluster.local/ns/foo/sa/a")
  expect(() => spiffeId("cluster.local", "foo/sa/admin", "a")).toThrow(RangeError)
})
