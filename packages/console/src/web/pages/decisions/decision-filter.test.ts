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

it("reads nothing from what is empty or unknown", () => {
  expect(wantedIn(search("path=&not-caller=&colour=red"))).toEqual([])
})

it("asks the API for what it has read, whatever signs are in it", () => {
  const wanted = [path("/a&b=c d%"), path("*", true)]
  expect(wantedIn(search(queryOf(wanted)))).toEqual(wanted)
})

it("adds a filter once, and takes away that one alone", () => {
  const to = search("path=/a&other=1")
  add(to, path("/b"))
  add(to, path("/b"))
  add(to, path(""))
  expect(to.toString()).toBe("path=%2Fa&other=1&path=%2Fb")
  remove(to, path("/a"))
  remove(to, path("/b", true))
  expect(to.toString()).toBe("other=1&path=%2Fb")
})
