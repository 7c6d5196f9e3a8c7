// SPDX-License-Identifier: Apache-2.0
// UDP to a captured Pod: two network namespaces with IPv4 and IPv6 addresses, one of them with the real rules. A reply
// to the Pod's own request follows each datagram of a stranger, so that no test waits for a datagram that never comes.
// @module-tag needs/network-namespaces

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PodNetwork, RULE_PROGRAMS, type Version } from "./support/pod-network.js"

/** Sends a query from port 53 of each address, and prints as many datagrams as must arrive there. */
const APPLICATION = `
  const sockets = []
  let missing = Number(process.argv[2])
  for (const [host, resolver] of JSON.parse(process.argv[1])) {
    const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4")
    sockets.push(socket)
    socket.on("message", text => {
      console.log(host + " " + text)
      if (--missing === 0) for (const each of sockets) each.close()
    })
    socket.bind(53, host, () => socket.send("question", 5353, resolver))
  }`
/** Makes a stranger send to the Pod that sent the query, then replies. */
const RESOLVER = `
  const { createSocket } = require("node:dgram")
  const hosts = process.argv.slice(1)
  let waiting = hosts.length
  for (const host of hosts) {
    const type = host.includes(":") ? "udp6" : "udp4"
    const [resolver, stranger] = [createSocket(type), createSocket(type)]
    resolver.on("message", (_, { address, port }) =>
      stranger.send("stranger", port, address, () => resolver.send("reply", port, address)))
    resolver.bind(5353, host, () => --waiting === 0 && console.log("listening"))
  }`
const LOOPBACK = { v4: "127.0.0.1", v6: "::1" }
const VERSIONS: readonly Version[] = ["v4", "v6"]

for (const [program, tags] of RULE_PROGRAMS) {
  describe(`by ${program}`, { tags: [...tags] }, () => {
    let network: PodNetwork
    beforeAll(async () => {
      network = new PodNetwork("udp", 78)
      const { v4, v6 } = network.addresses.node
      await Promise.all([
        network.lines("node", RESOLVER, [v4, v6]).next(),
        network.lines("pod", RESOLVER, Object.values(LOOPBACK)).next(),
      ])
    })
    afterAll(() => network.end())

    /** The datagrams that arrive at port 53 of the Pod, from outside and from inside, in any order. */
    async function expectArriving(outside: readonly string[], inside: readonly string[]): Promise<void> {
      const { pod, node } = network.addresses
      const pairs = VERSIONS.flatMap(version => [
        [pod[version], node[version]],
        [LOOPBACK[version], LOOPBACK[version]],
      ])
      const expected = VERSIONS.flatMap(version => [
        ...outside.map(text => `${pod[version]} ${text}`),
        ...inside.map(text => `${LOOPBACK[version]} ${text}`),
      ])
      const application = network.lines("pod", APPLICATION, [JSON.stringify(pairs), String(expected.length)])
      const found: string[] = []
      for (let line = await application.next(); !line.done; line = await application.next()) found.push(line.value)
      expect(found.toSorted()).toEqual(expected.toSorted())
    }

    // Must run first: a stranger that was allowed once belongs to an established flow.
    it("reaches a Pod that drops UDP as a reply, and from inside", async () => {
      network.capture(program, "--udp", "refuse")
      await expectArriving(["reply"], ["reply", "stranger"])
    })

    it("reaches a captured Pod if the mesh allows it", async () => {
      network.capture(program)
      await expectArriving(["reply", "stranger"], ["reply", "stranger"])
    })
  })
}
