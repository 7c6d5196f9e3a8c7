// SPDX-License-Identifier: Apache-2.0
// Calls out of a captured Pod: a program connects to the node, and either the node answers or the Pod's proxy does, with
// the destination that the program meant. Real rules in network namespaces.
// @module-tag needs/network-namespaces
// @module-tag needs/python3

import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { PodNetwork, RULE_PROGRAMS, type Side, type Version } from "./support/pod-network.js"

const OUTBOUND = ["--outbound", "15001"] as const
const PROXY_UID = 1337
const PORT = 8000
/** Answers every connection and every datagram with one word. */
const SERVER = `
  const [word, ...places] = process.argv.slice(1)
  const { createServer } = require("node:net")
  const { createSocket } = require("node:dgram")
  let waiting = places.length
  const ready = () => --waiting === 0 && console.log("listening")
  for (const place of places) {
    const [, kind, host, port] = /^(tcp|udp):(.+):([0-9]+)$/.exec(place)
    if (kind === "tcp") createServer(socket => socket.end(word)).listen(Number(port), host, ready)
    else {
      const socket = createSocket(host.includes(":") ? "udp6" : "udp4")
      socket.on("message", (_, from) => socket.send(word, from.port, from.address)).bind(Number(port), host, ready)
    }
  }`
/** The proxy: answers with the original destination (SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST are both 80). */
const PROXY = `
import socket, struct, sys, threading
def serve(listener, level):
    while True:
        connection, _ = listener.accept()
        found = connection.getsockopt(level, 80, 28)
        start, size = (4, 4) if level == socket.IPPROTO_IP else (8, 16)
        host = socket.inet_ntop(connection.family, found[start:start + size])
        connection.sendall(("proxy %s %d" % (host, struct.unpack("!H", found[2:4])[0])).encode())
        connection.close()
for host, family, level in (("127.0.0.1", socket.AF_INET, socket.IPPROTO_IP), ("::1", socket.AF_INET6, socket.IPPROTO_IPV6)):
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, 15001))
    listener.listen()
    threading.Thread(target=serve, args=(listener, level)).start()
print("listening", flush=True)
`
/** A program of some user: prints what it is answered, or that it is not. */
const CALLER = `
  const [user, kind, host, port] = process.argv.slice(1)
  process.setuid(Number(user))
  if (kind === "tcp") {
    const socket = require("node:net").connect(Number(port), host)
    socket.on("data", text => console.log(String(text))).on("error", ({ code }) => console.log(code))
  } else {
    const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4")
    socket.on("message", text => console.log(String(text)) || socket.close())
    socket.send("question", Number(port), host)
  }`

let network: PodNetwork
beforeEach(async () => {
  network = new PodNetwork("out", 79)
  await network.lines("pod", PROXY, [], ["python3", "-c"]).next()
})
afterEach(() => network.end())

const listen = (side: Side, word: string, ...places: readonly string[]) =>
  network.lines(side, SERVER, [word, ...places]).next()

async function call(host: string, { port = PORT, uid = 1000, kind = "tcp" } = {}): Promise<string> {
  const { value } = await network.lines("pod", CALLER, [String(uid), kind, host, String(port)]).next()
  return String(value)
}

describe.each(RULE_PROGRAMS)("by %s", (program, tags) => {
  describe.each<[Version, string]>([
    ["v4", "127.0.0.1"],
    ["v6", "::1"],
  ])("over IP%s", (version, loopback) => {
    let node = ""
    let pod = ""
    beforeEach(async () => {
      node = network.addresses.node[version]
      pod = network.addresses.pod[version]
      await listen("node", "node", ...[PORT, 53, 5432].map(port => `tcp:${node}:${port}`), `udp:${node}:${PORT}`)
    })
    const block = () => (version === "v4" ? "10.231.79.0/24" : "fd31:79::/64")
    const elsewhere = () => (version === "v4" ? "192.0.2.0/24,2001:db8::/32" : "10.0.0.0/8,2001:db8::/32")

    it("leaves calls alone unless asked", { tags: [...tags] }, async () => {
      network.capture(program)
      expect(await call(node)).toBe("node")
    })

    it("redirects a call to the proxy, which sees its destination", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND)
      expect(await call(node)).toBe(`proxy ${node} ${PORT}`)
      expect(await call(node, { uid: 0, port: 5432 })).toBe(`proxy ${node} 5432`)
    })

    it("redirects a call to a port where nothing listens", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND)
      expect(await call(node, { port: 9 })).toBe(`proxy ${node} 9`)
    })

    it("passes the proxy's own calls", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND)
      expect(await call(node, { uid: PROXY_UID })).toBe("node")
    })

    it("passes calls of the proxy's user alone, whoever that is", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND, "--proxy-uid", "2102")
      expect(await call(node, { uid: 2102 })).toBe("node")
      expect(await call(node, { uid: PROXY_UID })).toBe(`proxy ${node} ${PORT}`)
    })

    it("passes calls inside the Pod", { tags: [...tags] }, async () => {
      await listen("pod", "own", `tcp:${loopback}:${PORT}`, `tcp:${pod}:${PORT}`)
      network.capture(program, ...OUTBOUND)
      expect(await call(loopback)).toBe("own")
      expect(await call(pod)).toBe("own")
    })

    it("passes DNS over TCP", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND)
      expect(await call(node, { port: 53 })).toBe("node")
    })

    it("passes UDP", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND)
      expect(await call(node, { kind: "udp" })).toBe("node")
    })

    it("passes excluded ports", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND, "--exclude-outbound-ports", "5432,25")
      expect(await call(node, { port: 5432 })).toBe("node")
      expect(await call(node)).toBe(`proxy ${node} ${PORT}`)
    })

    it("passes excluded blocks", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND, "--exclude-outbound-cidrs", `${elsewhere()},${block()}`)
      expect(await call(node)).toBe("node")
      network.capture(program, ...OUTBOUND, "--exclude-outbound-cidrs", elsewhere().split(",")[1] ?? "")
      expect(await call(node)).toBe(`proxy ${node} ${PORT}`)
    })

    it("passes what is not included", { tags: [...tags] }, async () => {
      network.capture(program, ...OUTBOUND, "--include-outbound-cidrs", elsewhere().split(",")[1] ?? "")
      expect(await call(node)).toBe("node")
      network.capture(program, ...OUTBOUND, "--include-outbound-cidrs", `2001:db8::/32,${block()}`)
      expect(await call(node)).toBe(`proxy ${node} ${PORT}`)
      network.capture(program, ...OUTBOUND, "--include-outbound-cidrs", block(), "--exclude-outbound-cidrs", node)
      expect(await call(node)).toBe("node")
    })

    it("still refuses connections to the proxy's port and to undeclared ones", { tags: [...tags] }, async () => {
      await listen("pod", "own", `tcp:${pod}:9999`, `tcp:${pod}:15001`)
      network.capture(program, ...OUTBOUND)
      for (const port of [9999, 15_001]) {
        const caller = network.lines("node", CALLER, ["0", "tcp", pod, String(port)])
        expect((await caller.next()).value).toBe("ECONNREFUSED")
      }
    })
  })
})
