// SPDX-License-Identifier: Apache-2.0
// A Pod's network on one machine: a namespace with an IPv4 and an IPv6 address, whose connections the real rules
// capture.
// @module-tag needs/network-namespaces

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"

const MERLOND = "packages/cli/bin/merlond.js"
const NODE = { v4: "10.231.77.1", v6: "fd31:77::1" }
const POD = { v4: "10.231.77.2", v6: "fd31:77::2" }
const NAMESPACE = `merlon-${process.pid}`
const LINK = `mn${process.pid}`.slice(0, 15)
/** Responds with the caller's address, as the proxy reports it. */
const APPLICATION = `
  const server = require("node:http").createServer((asked, reply) => reply.end(asked.headers["x-forwarded-for"]))
  server.listen(8080, process.argv[1], () => console.log("listening"))`

const ip = (...args: readonly string[]) => execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] })
const inPod = (...command: readonly string[]) => ["netns", "exec", NAMESPACE, ...command] as const
const folder = mkdtempSync(join(tmpdir(), "merlon-network-"))
let xserver: ChildProcess | undefined
let application: ChildProcess | undefined

beforeAll(async () => {
  ip("netns", "add", NAMESPACE)
  ip("link", "add", LINK, "type", "veth", "peer", "name", "eth0", "netns", NAMESPACE)
  ip("addr", "add", `${NODE.v4}/24`, "dev", LINK)
  ip("-6", "addr", "add", `${NODE.v6}/64`, "dev", LINK, "nodad")
  ip("link", "set", LINK, "up")
  ip(...inPod("ip", "link", "set", "lo", "up"))
  ip(...inPod("ip", "addr", "add", `${POD.v4}/24`, "dev", "eth0"))
  ip(...inPod("ip", "-6", "addr", "add", `${POD.v6}/64`, "dev", "eth0", "nodad"))
  ip(...inPod("ip", "link", "set", "eth0", "up"))
  ip(...inPod(process.execPath, MERLOND, "capture", "--map", "8080:15080"))
  const upstream = { fallback: ["::1", POD.v4, POD.v6] }
  const ports = [{ port: 8080, protocol: "http", listen: { host: "::", port: 15_080 }, upstream }]
  const file = join(folder, "config.yaml")
  writeFileSync(file, JSON.stringify({ workload: { namespace: "foo", name: "a" }, ports }))
  const flags = ["--config-file", file, "--access-log", "off"]
  xserver = spawn("ip", inPod(process.execPath, MERLOND, "xserver", ...flags), { stdio: "ignore" })
  await eventually(async () => (await answer(`http://[${POD.v6}]:15021/healthz/ready`)) === "ok\n", {
    what: "xserver is ready",
  })
})
afterAll(async () => {
  xserver?.kill()
  if (xserver !== undefined) await once(xserver, "exit")
  ip("netns", "del", NAMESPACE)
  rmSync(folder, { recursive: true })
})

async function answer(url: string): Promise<string> {
  try {
    return await (await fetch(url, { headers: { connection: "close" } })).text()
  } catch {
    return "no connection"
  }
}

describe.each(["0.0.0.0", "::", "127.0.0.1", "::1", POD.v4, POD.v6])("an application on %s", listening => {
  beforeEach(async () => {
    const command = inPod(process.execPath, "-e", APPLICATION, listening)
    application = spawn("ip", command, { stdio: ["ignore", "pipe", "inherit"] })
    if (application.stdout !== null) await once(application.stdout, "data")
  })
  afterEach(async () => {
    application?.kill()
    if (application !== undefined) await once(application, "exit")
  })

  it("is reached through its xserver over IPv4 and IPv6, and never without it", async () => {
    expect(await answer(`http://${POD.v4}:8080/`)).toBe(NODE.v4)
    expect(await answer(`http://[${POD.v6}]:8080/`)).toBe(NODE.v6)
    for (const host of [POD.v4, `[${POD.v6}]`]) expect(await answer(`http://${host}:9999/`)).toBe("no connection")
  })
})
