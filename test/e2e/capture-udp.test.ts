// SPDX-License-Identifier: Apache-2.0
// UDP to a captured Pod: two network namespaces with IPv4 and IPv6 addresses, one of them with the real rules. A datagram of
// a stranger is followed by a reply to the Pod's own request, so that nothing has to be waited for that never comes.
// @module-tag needs/network-namespaces

import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { PodNetwork, RULE_PROGRAMS, type Version } from "./support/pod-network.js"

/** Asks the node from port 53, and prints every datagram that arrives there. */
const APPLICATION = `
  const [host, node] = process.argv.slice(1)
  const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4")
  socket.on("message", text => console.log(String(text)))
  socket.bind(53, host, () => socket.send("question", 5353, node))`
/** Lets a stranger send to the Pod that asked, then replies. */
const RESOLVER = `
  const [host] = process.argv.slice(1)
  const { createSocket } = require("node:dgram")
  const type = host.includes(":") ? "udp6" : "udp4"
  const [resolver, stranger] = [createSocket(type), createSocket(type)]
  resolver.on("message", (_, { address, port }) =>
    stranger.send("stranger", port, address, () => resolver.send("reply", port, address)))
  resolver.bind(5353, host, () => console.log("listening"))`

let network: PodNetwork
beforeEach(() => {
  network = new PodNetwork("udp", 78)
})
afterEach(() => network.end())

/** What arrives at port 53 of the Pod, in any order; as many datagrams as there must be. */
async function arriving(
  count: number,
  pod: string,
  node: string,
  at: "node" | "pod" = "node",
): Promise<readonly string[]> {
  await network.lines(at, RESOLVER, [node]).next()
  const application = network.lines("pod", APPLICATION, [pod, node])
  const found: string[] = []
  while (found.length < count) found.push(String((await application.next()).value))
  return found.toSorted()
}

describe.each<Version>(["v4", "v6"])("over IP%s", version => {
  describe.each(RULE_PROGRAMS)("by %s", (program, tags) => {
    const addresses = () => [network.addresses.pod[version], network.addresses.node[version]] as const

    it("reaches a captured Pod where the mesh lets it pass", { tags: [...tags] }, async () => {
      network.capture(program)
      expect(await arriving(2, ...addresses())).toEqual(["reply", "stranger"])
    })

    it("reaches a Pod that refuses it only as a reply", { tags: [...tags] }, async () => {
      network.capture(program, "--udp", "refuse")
      expect(await arriving(1, ...addresses())).toEqual(["reply"])
    })

    it("reaches a Pod that refuses it from inside", { tags: [...tags] }, async () => {
      network.capture(program, "--udp", "refuse")
      const loopback = version === "v4" ? "127.0.0.1" : "::1"
      expect(await arriving(2, loopback, loopback, "pod")).toEqual(["reply", "stranger"])
    })
  })
})
