// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest"
import { expandPrincipal, expandTrustDomain } from "./trust-domains.js"

describe("expandPrincipal", () => {
  const of = (domain: string) => `${domain}/ns/foo/sa/bar`

  test.each([
    [["td2", "td1"], of("td1"), [of("td2"), of("td1")]],
    [["td1"], of("cluster.local"), [of("td1")]],
    [["td2", "foo-td1", "cluster.local"], of("*-td1"), [of("td2"), of("*-td1"), of("cluster.local")]],
    [["td1", "td2"], of("some-td"), [of("some-td")]],
    [["td2", "td1"], "td1/ns/foo/*", ["td1/ns/foo/*"]],
    [["td2", "td1"], `${of("td1")}/more`, [`${of("td1")}/more`]],
    [["td1", "td2"], "*", ["*"]],
    [["td1", "td2"], of("*"), [of("*")]],
    [["td1", "td2"], "*sa/zzz", ["*sa/zzz"]],
    [["td1", "td1"], of("td1"), [of("td1")]],
    [["old.example", "new.example"], of("old*"), [of("old.example"), of("new.example")]],
  ])("of the domains %j reads %s as %j", (domains, written, expected) => {
    expect(expandPrincipal(written, domains)).toEqual(expected)
  })
})

test("expands a trust domain of the mesh to all of them, and no other", () => {
  expect(expandTrustDomain("td1", ["td2", "td1"])).toEqual(["td2", "td1"])
  expect(expandTrustDomain("td3", ["td2", "td1"])).toEqual(["td3"])
})
