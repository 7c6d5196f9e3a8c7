// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { add, queryOf, remove, type Wanted, wantedIn } from "./decision-filter.js"

const search = (text: string): URLSearchParams => new URLSearchParams(text)
const path = (pattern: string, not = false): Wanted => ({ trait: "path", not, pattern })

it("reads repeated filters and exclusions", () => {
  expect(wantedIn(search("path=/a&path=/b&not-path=/c&verdict=deny"))).toEqual([
    { trait: "verdict", not: false, pattern: "deny" },
    path("/a"),
    path("/b"),
    path("/c", true),
  ])
})

it("ignores empty and unknown filters", () => {
  expect(wantedIn(search("path=&not-caller=&colour=red"))).toEqual([])
})

it("encodes special characters in the query to the API", () => {
  const wanted = [path("/a&b=c d%"), path("*", true)]
  expect(wantedIn(search(queryOf(wanted)))).toEqual(wanted)
})

it("adds a filter once, and removes only that one", () => {
  const to = search("path=/a&other=1")
  add(to, path("/b"))
  add(to, path("/b"))
  add(to, path(""))
  expect(to.toString()).toBe("path=%2Fa&other=1&path=%2Fb")
  remove(to, path("/a"))
  remove(to, path("/b", true))
  expect(to.toString()).toBe("other=1&path=%2Fb")
})
