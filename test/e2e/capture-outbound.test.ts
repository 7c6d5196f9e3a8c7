// SPDX-License-Identifier: Apache-2.0
// Calls out of a captured Pod: a program connects to the node, and either the node answers or the Pod's proxy, which
// reports the original destination. Real rules in network namespaces: one pair for each program that sets rules; the
// rules of each case replace those before.
// @module-tag needs/network-namespaces
// @module-tag needs/python3

import { resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
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
/**
 * Our proxy, as a user whose calls the rules redirect: prints each loop, and how many connections it had accepted by
 * then.
 */
const LOOPING = `
  const [xclient, native] = process.argv.slice(1)
  Promise.all([import(xclient), import(native)]).then(async ([{ CapturedProxy, WorkloadCalls }, { loadLibc }]) => {
    let accepted = 0
    const libc = await loadLibc()
    const log = { info() {}, warn: ({ destination, code }) => code === "captured-loop" && console.log(accepted, destination), error() {} }
    const calls = new WorkloadCalls({ mesh: "merlon", log, credentials: () => undefined, resubscribe: () => queueMicrotask(absent) })
    const { knownRoutes, outbound, requests } = calls
    const absent = () => knownRoutes.subscription.apply({ revision: 1, resources: [], removed: knownRoutes.subscription.names() })
    const destinationOf = socket => {
      accepted++
      return libc.originalDestination(socket._handle.fd, socket.localFamily === "IPv6" ? 6 : 4)
    }
    await new CapturedProxy({ knownRoutes, outbound, requests, log, destinationOf, isControlPlaneAway: () => false }).listen(15011)
    console.log("listening")
  })`
/** Makes one call after the other as several users, and prints the response or the error of each. */
const CALLER = `
  const { connect } = require("node:net")
  const { createSocket } = require("node:dgram")
  const answer = ({ kind, host, port }) => new Promise(resolve => {
    if (kind === "tcp") {
      const socket = connect(port, host)
      socket.once("data", text => resolve(text) || socket.destroy()).once("error", ({ code }) => resolve(code))
    } else {
      const socket = createSocket(host.includes(":") ? "udp6" : "udp4")
      socket.once("message", text => resolve(text) || socket.close()).send("question", port, host)
    }
  })
  const callAll = async calls => {
    for (const call of calls) {
      process.seteuid(call.uid)
      console.log(String(await answer(call)))
      process.seteuid(0)
    }
  }
  callAll(JSON.parse(process.argv[1]))`

interface Call {
  readonly host: string
  readonly port?: number
  readonly uid?: number
  readonly kind?: "tcp" | "udp"
}

/** The addresses of one IP version. */
interface Addresses {
  readonly node: string
  readonly pod: string
  readonly loopback: string
}

const BLOCKS = { v4: "10.231.79.0/24", v6: "fd31:79::/64" }
const LOOPBACK = { v4: "127.0.0.1", v6: "::1" }
const VERSIONS: readonly Version[] = ["v4", "v6"]

for (const [program, tags] of RULE_PROGRAMS) {
  describe(`by ${program}`, { tags: [...tags] }, () => {
    let network: PodNetwork
    const at = (version: Version): Addresses => ({
      node: network.addresses.node[version],
      pod: network.addresses.pod[version],
      loopback: LOOPBACK[version],
    })
    const listen = (side: Side, word: string, places: (at: Addresses) => readonly string[]) =>
      network.lines(side, SERVER, [word, ...VERSIONS.flatMap(version => places(at(version)))]).next()

    beforeAll(async () => {
      network = new PodNetwork("out", 79)
      await Promise.all([
        network.lines("pod", PROXY, [], ["python3", "-c"]).next(),
        listen("node", "node", ({ node }) => [
          ...[PORT, 53, 5432].map(port => `tcp:${node}:${port}`),
          `udp:${node}:${PORT}`,
        ]),
        listen("pod", "own", ({ pod, loopback }) => [
          `tcp:${loopback}:${PORT}`,
          ...[PORT, 9999, 15_001].map(port => `tcp:${pod}:${port}`),
        ]),
      ])
    })
    afterAll(() => network.end())

    /** Checks the calls over IPv4 and IPv6: each call with its expected response. */
    async function expectAnswers(
      calls: (at: Addresses, version: Version) => readonly (readonly [Call, string])[],
      from: Side = "pod",
    ): Promise<void> {
      const all = VERSIONS.flatMap(version => calls(at(version), version)).map(
        ([call, answer]) => [{ port: PORT, uid: 1000, kind: "tcp", ...call }, answer] as const,
      )
      const lines = network.lines(from, CALLER, [JSON.stringify(all.map(([call]) => call))])
      const found: unknown[] = []
      for (const [call] of all) found.push([call, (await lines.next()).value])
      expect(found).toEqual(all)
    }

    // Must run first: iptables keeps the chain for outbound calls even if later rules do not need it.
    it("ignores outbound calls by default", async () => {
      network.capture(program)
      await expectAnswers(({ node }) => [[{ host: node }, "node"]])
    })

    describe("on request", () => {
      // Twice: a restarted init container changes nothing.
      beforeAll(() => {
        for (let time = 0; time < 2; time++) network.capture(program, ...OUTBOUND)
      })

      it("redirects a call to the proxy, which sees its destination", () =>
        expectAnswers(({ node }) => [
          [{ host: node }, `proxy ${node} ${PORT}`],
          [{ host: node, uid: 0, port: 5432 }, `proxy ${node} 5432`],
        ]))

      it("redirects a call to a port where nothing listens", () =>
        expectAnswers(({ node }) => [[{ host: node, port: 9 }, `proxy ${node} 9`]]))

      it("passes the proxy's own calls", () => expectAnswers(({ node }) => [[{ host: node, uid: PROXY_UID }, "node"]]))

      it("passes calls inside the Pod", () =>
        expectAnswers(({ pod, loopback }) => [
          [{ host: loopback }, "own"],
          [{ host: pod }, "own"],
        ]))

      it("passes DNS over TCP", () => expectAnswers(({ node }) => [[{ host: node, port: 53 }, "node"]]))

      it("passes UDP", () => expectAnswers(({ node }) => [[{ host: node, kind: "udp" }, "node"]]))

      it("still rejects connections to the proxy's port and to undeclared ports", () =>
        expectAnswers(({ pod }) => [9999, 15_001].map(port => [{ host: pod, port }, "ECONNREFUSED"] as const), "node"))
    })

    it("passes only the calls of the user that the proxy runs as", async () => {
      network.capture(program, ...OUTBOUND, "--proxy-uid", "2102")
      await expectAnswers(({ node }) => [
        [{ host: node, uid: 2102 }, "node"],
        [{ host: node, uid: PROXY_UID }, `proxy ${node} ${PORT}`],
      ])
    })

    it("redirects the calls of a proxy that runs as another user, and stops the loop at once", async () => {
      network.capture(program, "--outbound", "15011")
      const modules = ["xclient/dist/index.js", "wire/dist/native/public.js"].map(path => resolve("packages", path))
      const result = network.lines("pod", LOOPING, modules)
      expect((await result.next()).value).toBe("listening")
      await expectAnswers(({ node }) => [[{ host: node }, "ECONNRESET"]])
      for (const version of VERSIONS) {
        const [accepted, destination] = String((await result.next()).value).split(" ")
        expect(destination).toContain(at(version).node)
        // A round may begin before the connect event of the one before. Without loop detection there are thousands.
        expect(Number(accepted)).toBeLessThan(20)
      }
    })

    it("passes excluded ports", async () => {
      network.capture(program, ...OUTBOUND, "--exclude-outbound-ports", "5432,25")
      await expectAnswers(({ node }) => [
        [{ host: node, port: 5432 }, "node"],
        [{ host: node }, `proxy ${node} ${PORT}`],
      ])
    })

    // The IP versions over which calls to the node are redirected.
    it.each<[name: string, flags: Readonly<Record<string, string>>, redirected: readonly Version[]]>([
      ["passes excluded blocks", { exclude: `192.0.2.0/24,2001:db8::/32,${BLOCKS.v4},${BLOCKS.v6}` }, []],
      ["redirects calls beside excluded blocks", { exclude: "192.0.2.0/24,2001:db8::/32" }, VERSIONS],
      ["passes an excluded block of IPv4 alone", { exclude: `2001:db8::/32,${BLOCKS.v4}` }, ["v6"]],
      ["passes an excluded block of IPv6 alone", { exclude: `192.0.2.0/24,${BLOCKS.v6}` }, ["v4"]],
      ["passes what is not included", { include: "2001:db8::/32" }, []],
      ["redirects an included block of IPv4 alone", { include: `2001:db8::/32,${BLOCKS.v4}` }, ["v4"]],
      ["redirects an included block of IPv6 alone", { include: `192.0.2.0/24,${BLOCKS.v6}` }, ["v6"]],
      [
        "passes what is excluded from an included block",
        { include: `${BLOCKS.v4},${BLOCKS.v6}`, exclude: "10.231.79.1,fd31:79::1" },
        [],
      ],
    ])("%s", async (_, flags, redirected) => {
      const limits = Object.entries(flags).flatMap(([word, blocks]) => [`--${word}-outbound-cidrs`, blocks])
      network.capture(program, ...OUTBOUND, ...limits)
      await expectAnswers(({ node }, version) => [
        [{ host: node }, redirected.includes(version) ? `proxy ${node} ${PORT}` : "node"],
      ])
    })
  })
}
