// SPDX-License-Identifier: Apache-2.0
// One request for each difference between Merlon and Istio, with the same DENY policy.

import { expect, it } from "vitest"
import { compile, decide } from "../program.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import { type Asked, deny, httpRequest, mesh, naming, workload } from "./testing/requests.js"

const path = (value: string): Rule => ({ to: [{ operation: { paths: [value] } }] })
const claim = (name: string, value: string): Rule => ({
  when: [{ key: `request.auth.claims[${name}]`, values: [value] }],
})

it.each<[string, Rule, Asked, "deny" | "allow", "deny" | "allow"]>([
  ["a boolean claim", claim("banned", "true"), { claims: { banned: true } }, "deny", "allow"],
  ["a number in a list", claim("levels", "5"), { claims: { levels: [5] } }, "deny", "allow"],
  ["a string in a list", claim("levels", "5"), { claims: { levels: ["5"] } }, "deny", "deny"],
  [
    "a subject with a slash",
    { from: [{ source: { requestPrincipals: ["https://i/a/b"] } }] },
    { claims: { iss: "https://i", sub: "a/b" } },
    "deny",
    "allow",
  ],
  [
    "a namespace that ends in another word",
    { from: [{ source: { namespaces: ["*sa"] } }] },
    { peer: "cluster.local/ns/shop/sa/cart" },
    "allow",
    "deny",
  ],
  ["a dot behind the host", { to: [{ operation: { hosts: ["a.com"] } }] }, { host: "a.com." }, "deny", "allow"],
  ["a character that URIs escape", path("/admin/{**}"), { target: "/admin/[x" }, "deny", "allow"],
  ["a character that Envoy escapes", path("/admin/{**}"), { target: "/admin/|" }, "deny", "deny"],
  ["a path of URI characters", path("/admin/{**}"), { target: "/admin/x/%5B" }, "deny", "deny"],
  [
    "a server name in capitals",
    { when: [{ key: "connection.sni", values: ["a.com"] }] },
    { peer: "cluster.local/ns/shop/sa/cart", sni: "A.com" },
    "allow",
    "deny",
  ],
  ["OPTIONS *", path("/*"), { method: "OPTIONS", target: "*" }, "deny", "allow"],
])("%s", (_, rule, asked, ours, istios) => {
  const verdict = (dialect?: "istio") => {
    const config = { ...mesh, ...(dialect && { dialect }) }
    return decide(compile([deny(rule), naming(["https://i"])], workload, config), httpRequest(asked, config)).verdict
  }
  expect([verdict(), verdict("istio")]).toEqual([ours, istios])
})
