// SPDX-License-Identifier: Apache-2.0
// UDP to a captured Pod: two network namespaces with IPv4 and IPv6 addresses, one of them with the real rules. A datagram of
// a stranger is followed by a reply to the Pod's own request, so that nothing has to be waited for that never comes.
// @module-tag needs/network-namespaces

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { findProgram } from "../runner/programs.js"

const MERLOND = resolve("packages/cli/bin/merlond.js")
const NODE = { v4: "10.231.78.1", v6: "fd31:78::1" }
const POD = { v4: "10.231.78.2", v6: "fd31:78::2" }
const [NODE_SPACE, POD_SPACE] = [`merlon-udp-n${process.pid}`, `merlon-udp-p${process.pid}`]
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

const ip = (...args: readonly string[]) => execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] })
const within = (space: string, ...command: readonly string[]) => ["netns", "exec", space, ...command] as const
const onlyIptables = mkdtempSync(join(tmpdir(), "merlon-iptables-"))
const children: ChildProcess[] = []

beforeEach(() => {
  for (const space of [NODE_SPACE, POD_SPACE]) ip("netns", "add", space)
  ip("-n", NODE_SPACE, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", POD_SPACE)
  for (const [space, own] of [
    [NODE_SPACE, NODE],
    [POD_SPACE, POD],
  ] as const) {
    ip("-n", space, "link", "set", "lo", "up")
    ip("-n", space, "addr", "add", `${own.v4}/24`, "dev", "eth0")
    ip("-n", space, "-6", "addr", "add", `${own.v6}/64`, "dev", "eth0", "nodad")
    ip("-n", space, "link", "set", "eth0", "up")
  }
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
  }
  for (const space of [NODE_SPACE, POD_SPACE]) ip("netns", "del", space)
})
afterAll(() => rmSync(onlyIptables, { recursive: true }))

/** The lines that a script prints in a namespace. */
function lines(space: string, script: string, ...args: readonly string[]): AsyncIterator<string> {
  const command = within(space, process.execPath, "-e", script, ...args)
  const child = spawn("ip", command, { stdio: ["ignore", "pipe", "inherit"] })
  children.push(child)
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]()
}

/** What arrives at port 53 of the Pod, in any order; as many datagrams as there must be. */
async function arriving(version: "v4" | "v6", count: number): Promise<readonly string[]> {
  await lines(NODE_SPACE, RESOLVER, NODE[version]).next()
  const application = lines(POD_SPACE, APPLICATION, POD[version], NODE[version])
  const found: string[] = []
  while (found.length < count) found.push(String((await application.next()).value))
  return found.toSorted()
}

function capture(path: string, ...flags: readonly string[]): void {
  const command = [process.execPath, MERLOND, "capture", "--map", "8080:15080", ...flags]
  // Twice: a container that is started again changes nothing.
  for (let time = 0; time < 2; time++) ip(...within(POD_SPACE, "env", `PATH=${path}`, ...command))
}

/** Where nft is missing, `capture` takes iptables. */
function pathWith(program: "nft" | "iptables"): string {
  if (program === "nft") return process.env.PATH ?? ""
  for (const name of ["sh", "iptables", "ip6tables"]) {
    rmSync(join(onlyIptables, name), { force: true })
    symlinkSync(findProgram(name) ?? "", join(onlyIptables, name))
  }
  return onlyIptables
}

describe.each(["v4", "v6"] as const)("over IP%s", version => {
  describe.each([
    ["nft", []],
    ["iptables", ["needs/iptables"]],
  ] as const)("by %s", (program, tags) => {
    it("reaches a captured Pod where the mesh lets it pass", { tags: [...tags] }, async () => {
      capture(pathWith(program))
      expect(await arriving(version, 2)).toEqual(["reply", "stranger"])
    })

    it("reaches a Pod that refuses it only as a reply", { tags: [...tags] }, async () => {
      capture(pathWith(program), "--udp", "refuse")
      expect(await arriving(version, 1)).toEqual(["reply"])
    })

    it("reaches a Pod that refuses it from inside", { tags: [...tags] }, async () => {
      capture(pathWith(program), "--udp", "refuse")
      const loopback = version === "v4" ? "127.0.0.1" : "::1"
      await lines(POD_SPACE, RESOLVER, loopback).next()
      const application = lines(POD_SPACE, APPLICATION, loopback, loopback)
      const found = [String((await application.next()).value), String((await application.next()).value)]
      expect(found.toSorted()).toEqual(["reply", "stranger"])
    })
  })
})
