// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { authorityOf, hostAliases, hostCandidates, parseAuthority } from "./host-name.js"

const FULL = "web.app.svc.cluster.local"

describe("a host means", () => {
  it.each([
    ["web", [FULL]],
    ["WEB", [FULL]],
    ["web.app", [FULL, "web.app"]],
    ["web.app.svc", [FULL]],
    [FULL, [FULL]],
    [`${FULL}.`, [FULL]],
    ["api.example.com", ["api.example.com"]],
    ["10.0.0.1", ["10.0.0.1"]],
    ["::1", ["::1"]],
  ])("%s: %j", (text, candidates) => {
    expect(hostCandidates(text, "app", "cluster.local")).toEqual(candidates)
  })
})

describe("aliases", () => {
  it.each([
    [FULL, ["web", "web.app", "web.app.svc"]],
    ["a.b.c.svc.cluster.local", []],
    ["app.svc.cluster.local", []],
    ["api.example.com", []],
    ["10.0.0.1", []],
  ])("of %s are %j", (host, aliases) => {
    expect(hostAliases(host, "cluster.local")).toEqual(aliases)
  })
})

describe("an authority", () => {
  it.each([
    ["web:80", { host: "web", port: 80 }],
    ["web", { host: "web", port: undefined }],
    ["[::1]:80", { host: "::1", port: 80 }],
    ["", undefined],
    [":80", undefined],
    ["web:", undefined],
    ["web:0", undefined],
    ["web:65536", undefined],
    ["web:80:80", undefined],
    ["::1", undefined],
    ["a".repeat(513), undefined],
  ])("%s is %j", (text, authority) => {
    expect(parseAuthority(text)).toEqual(authority)
  })

  it.each(["web", "10.0.0.1", "::1"])("of %s survives a round trip", host => {
    expect(parseAuthority(authorityOf(host, 80))).toEqual({ host, port: 80 })
  })
})
