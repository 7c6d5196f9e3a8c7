// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { rejection } from "./guard.js"

const HOSTS = { hosts: ["mesh.example.com"] }

test.each([
  ["a browser on this machine", "GET", { host: "127.0.0.1:7080" }],
  ["localhost by name", "GET", { host: "localhost:7080" }],
  ["IPv6", "GET", { host: "[::1]:7080" }],
  ["a name we were told", "POST", { host: "mesh.example.com", origin: "https://mesh.example.com" }],
  ["a proxy that has changed Host", "POST", { host: "127.0.0.1:7080", origin: "https://mesh.example.com" }],
  ["the page itself", "POST", { host: "127.0.0.1:7080", origin: "http://127.0.0.1:7080" }],
  ["a program without Origin", "POST", { host: "127.0.0.1:7080" }],
  [
    "somebody who follows a link to us",
    "GET",
    {
      host: "127.0.0.1:7080",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    },
  ],
])("allows %s", (_, method, headers) => {
  expect(rejection(method, headers, HOSTS)).toBeUndefined()
})

test.each([
  ["a name that leads to our address", "GET", { host: "attacker.example:7080" }],
  ["a name that looks like this machine", "GET", { host: "127.0.0.1.attacker.example" }],
  ["no Host", "GET", {}],
  ["a Host that is none", "GET", { host: "127.0.0.1:7080/x" }],
  ["another origin", "POST", { host: "127.0.0.1:7080", origin: "http://attacker.example" }],
  ["another port of this machine", "DELETE", { host: "127.0.0.1:7080", origin: "http://127.0.0.1:8000" }],
  ["a page in a frame or from a file", "POST", { host: "127.0.0.1:7080", origin: "null" }],
  ["another site's script", "GET", { host: "127.0.0.1:7080", "sec-fetch-site": "cross-site" }],
  [
    "another site's frame",
    "GET",
    {
      host: "127.0.0.1:7080",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "iframe",
    },
  ],
])("rejects %s", (_, method, headers) => {
  expect(rejection(method, headers, HOSTS)).toBeTypeOf("string")
})
