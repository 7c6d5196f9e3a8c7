// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { nearestLabels } from "./nearest-labels.js"

const workloads = [
  { key: "foo/web-1", labels: { app: "web", version: "v1" } },
  { key: "foo/httpbin-1", labels: { app: "httpbin", version: "v1" } },
]

test.each<[string, { [key: string]: string }, string | undefined]>([
  ["a letter missing", { app: "httpbn" }, "`app=httpbin` (`foo/httpbin-1`)"],
  ["one label right, one nearly", { app: "httpbin", version: "v2" }, "`app=httpbin,version=v1` (`foo/httpbin-1`)"],
  ["a misspelt key", { aap: "httpbin" }, "`app=httpbin` (`foo/httpbin-1`)"],
  ["one label right, one unknown", { app: "web", tier: "gold" }, "`app=web` (`foo/web-1`)"],
  ["nothing similar", { component: "database" }, undefined],
])("suggests the nearest labels: %s", (_, wanted, expected) => {
  expect(nearestLabels(wanted, workloads)).toBe(expected)
})

test("no workloads, no suggestion", () => {
  expect(nearestLabels({ app: "web" }, [])).toBeUndefined()
})

test("compares a limited number of label sets", () => {
  let looked = 0
  const endless = (function* () {
    for (;;) yield { key: "foo/x", labels: { [`label-${looked++}`]: "x" } }
  })()
  nearestLabels({ app: "web" }, endless)
  expect(looked).toBeLessThan(1_100)
})
