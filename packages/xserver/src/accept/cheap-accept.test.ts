// SPDX-License-Identifier: Apache-2.0
// The beginning of a connection is cheap: no separate buffer for the first bytes, and the cheapest cipher.

import type { Socket } from "node:net"
import { expect, it } from "vitest"
import type { Accepted } from "./accepted.js"
import { Authority } from "./testing/certificates.js"
import { firstLine, listenerBench, naming } from "./testing/listener-bench.js"

const authority = new Authority()
const { plain, rigWith, secure } = listenerBench(authority)

const REQUEST = "GET / HTTP/1.1\r\n\r\n"

it.each([
  ["http", true],
  ["auto", false],
] as const)("first bytes on a port that is %s are read into the shared buffer: %s", async (protocol, shared) => {
  const seen: Accepted[] = []
  const rig = await rigWith({ ...naming(seen), port: { protocol } })
  const inClear = await firstLine(plain(rig, REQUEST))
  const socket = secure(rig, protocol === "auto" ? { ALPNProtocols: ["merlon"] } : {})
  socket.write(REQUEST)
  const encrypted = await firstLine(socket)
  expect([inClear, encrypted].map(line => line.startsWith("http1 ") && line.endsWith("GET / HTTP/1.1"))).toEqual([
    true,
    true,
  ])
  expect(seen.map(accepted => readsIntoShared(accepted.socket))).toEqual([shared, shared])
})

it.each([
  ["TLSv1.3", "TLS_AES_128_GCM_SHA256"],
  ["TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"],
] as const)("of what a client of %s offers, %s is taken", async (version, cipher) => {
  const rig = await rigWith(naming())
  const socket = secure(rig, { minVersion: version, maxVersion: version, ALPNProtocols: ["http/1.1"] })
  await firstLine(socket)
  expect(socket.getCipher().name).toBe(cipher)
})

function readsIntoShared(socket: Socket): boolean {
  // Node keeps a buffer that it was given under a private symbol.
  return Object.getOwnPropertySymbols(socket).some(name => Reflect.get(socket, name) instanceof Buffer)
}
