// SPDX-License-Identifier: Apache-2.0
// Every listener of a mesh under connections that send nothing, from one address and from many. The listeners are those
// that the mesh's processes really have, so that a new one without limits fails here.

import { once } from "node:events"
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { request } from "node:https"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import { Merlonctl } from "./support/merlonctl.js"
import { ownAndIngressPorts } from "./support/own-ports.js"

interface Address {
  readonly host: string
  readonly port: number
}

interface Listener {
  readonly speaks: "http" | "tls"
  readonly find: () => Address
  /**
   * Limits for idle connections of one address, or of many together; undefined if higher than the number that the test
   * opens.
   */
  readonly oneAddress: number | undefined
  readonly manyAddresses: number | undefined
}

const SILENT = 1_100
const VICTIM = "127.0.0.1"
const ATTACKER = "127.0.99.1"
const POLL = { timeout: 90_000, interval: 200 }

const folder = await mkdtemp(join(tmpdir(), "listeners-"))
const mesh = new Merlonctl(join(folder, "mesh"))
const outbound = await freePort()
let xclient: ReturnType<Merlonctl["start"]> | undefined

const local = (port: number | undefined): Address => ({ host: VICTIM, port: port ?? 0 })
const place = () => {
  const found = mesh.record.workloads.find(({ serves }) => serves)?.place
  if (found === undefined) throw new Error("no workload serves")
  return found
}
const LIMITED = { oneAddress: 512, manyAddresses: 1_024 }
const LARGE = { oneAddress: undefined, manyAddresses: undefined }

const LISTENERS: Readonly<Record<string, Listener>> = {
  "xserver inbound": { speaks: "http", find: () => ({ host: place().address, port: place().xserver }), ...LARGE },
  "xserver admin": {
    speaks: "http",
    find: () => ({ host: place().address, port: place().admin }),
    ...LIMITED,
  },
  "xserver health": { speaks: "http", find: () => ({ host: place().address, port: place().health }), ...LIMITED },
  "calls of a workload": {
    speaks: "http",
    find: () => ({ host: place().address, port: place().outbound ?? 0 }),
    ...LARGE,
  },
  "control plane xDS": { speaks: "tls", find: () => local(mesh.record.ports.mesh), ...LARGE },
  "control plane webhooks": { speaks: "tls", find: () => local(mesh.record.ports.webhook), ...LIMITED },
  "control plane health": { speaks: "http", find: () => local(mesh.record.ports.health), ...LIMITED },
  "control plane replicas": { speaks: "tls", find: () => replicas(), ...LIMITED },
  "embedded API": { speaks: "tls", find: () => local(mesh.record.ports.api), ...LARGE },
  console: { speaks: "http", find: () => local(mesh.record.ports.console), ...LIMITED },
  "exposed Service": {
    speaks: "http",
    find: () => local(mesh.record.ingressPorts[0]?.port),
    oneAddress: 768,
    manyAddresses: 1_024,
  },
  "xclient outbound": { speaks: "http", find: () => local(outbound), ...LARGE },
}

beforeAll(async () => {
  const { code, stderr } = await mesh.run("up", "--detach", ...(await ownAndIngressPorts()))
  expect(code, stderr).toBe(0)
  xclient = mesh.start(["exec", "consumer", "-n", "app", "--", "xclient", "--listen", `127.0.0.1:${outbound}`])
  await vi.waitFor(async () => expect(await answers(local(outbound), "http", VICTIM)).toBe(true), POLL)
})

afterAll(async () => {
  xclient?.child.kill()
  await xclient?.ended
  await mesh.run("down")
  rmSync(folder, { recursive: true, force: true })
})

it("has a row for every listener of the mesh", () => {
  const named = new Set(Object.values(LISTENERS).map(({ find }) => find().port))
  for (const { place: own } of mesh.record.workloads)
    for (const port of [own.xserver, own.admin, own.health, own.outbound ?? 0, own.application]) named.add(port)
  for (const { port } of mesh.record.ingressPorts) named.add(port)
  const open = [...mesh.record.processes, mesh.record.supervisor].flatMap(({ pid }) => listeningPorts(pid))
  expect(open.length).toBeGreaterThan(10)
  expect(open.filter(({ port }) => !named.has(port))).toEqual([])
})

it("rejects reviews that are not from the API server", async () => {
  const { port } = LISTENERS["control plane webhooks"]?.find() ?? local(0)
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: {} })
  const options = { host: VICTIM, port, method: "POST", headers: { "content-type": "application/json" } }
  for (const path of ["/validate", "/validate/pods", "/inject", `/${"0".repeat(64)}/validate`]) {
    const asked = request({ ...options, path, rejectUnauthorized: false, agent: false }).end(body)
    const [response]: IncomingMessage[] = await once(asked, "response")
    expect(response?.statusCode, path).toBe(404)
    asked.destroy()
  }
  // Reviews from the API server are answered.
  const bad = join(folder, "bad.yaml")
  writeFileSync(
    bad,
    "apiVersion: security.merlon.dev/v1alpha3\nkind: AuthorizationPolicy\nmetadata: {name: bad, namespace: foo}\nspec: {action: MAYBE}\n",
  )
  const { code, stderr } = await mesh.run("apply", "-f", bad)
  expect(stderr).toContain("MAYBE")
  expect(code).not.toBe(0)
})

describe.each(Object.entries(LISTENERS))("%s", (_, { speaks, find, oneAddress, manyAddresses }) => {
  it.each([
    ["one address", () => ATTACKER, oneAddress],
    ["a crowd of addresses", (n: number) => `127.0.${100 + (n >> 7)}.${1 + (n & 127)}`, manyAddresses],
  ])("answers while %s holds silent connections", async (_from, addressOf, most) => {
    const target = find()
    const held = await Promise.all(Array.from({ length: SILENT }, (_none, n) => silent(target, addressOf(n))))
    try {
      expect(await answers(target, speaks, VICTIM)).toBe(true)
      // A client that shares its address with the attacker is served as well.
      expect(await answers(target, speaks, addressOf(0))).toBe(true)
      // There may be one more until the longest idle connection is closed for it.
      if (most !== undefined) await expect.poll(() => accepted(target)).toBeLessThanOrEqual(most)
    } finally {
      for (const socket of held) socket.destroy()
    }
  })
})

function silent({ host, port }: Address, localAddress: string): Promise<Socket> {
  return new Promise(resolve => {
    const socket = connect({ host, port, localAddress }, () => resolve(socket))
    socket.on("error", () => resolve(socket))
    socket.resume()
  })
}

/** Whether the server sends anything to a client that speaks its protocol. */
function answers({ host, port }: Address, speaks: "http" | "tls", localAddress: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, localAddress })
    const spoken =
      speaks === "tls" ? connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ["h2", "http/1.1"] }) : socket
    spoken.on("error", () => undefined)
    socket.on("error", () => undefined)
    socket.on("close", () => resolve(socket.bytesRead > 0))
    if (speaks === "tls") spoken.on("secureConnect", () => socket.destroy())
    else {
      socket.on("data", () => socket.destroy())
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }
  })
}

/** The control plane's only listener that is not in a record. */
function replicas(): Address {
  const plane = mesh.record.processes.find(({ name }) => name === "control-plane")
  const { ports } = mesh.record
  const named = new Set<number | undefined>(Object.values(ports))
  const found = listeningPorts(plane?.pid ?? 0).find(({ port }) => !named.has(port))
  if (found === undefined) throw new Error("the control plane has no port for replicas")
  return found
}

const LISTENING = "0A"
const ESTABLISHED = "01"

/** Rows of `/proc/net/tcp`: the local end, its state and its inode. */
function sockets(): readonly (Address & { readonly state: string; readonly inode: string })[] {
  const rows = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1)
  return rows.map(row => {
    const [, near = "", , state = "", , , , , , inode = ""] = row.trim().split(/\s+/)
    const [address = "", port = ""] = near.split(":")
    const host = Buffer.from(address, "hex").reverse().join(".")
    return { host, port: Number.parseInt(port, 16), state, inode }
  })
}

/** Connections that the server has accepted; those in the kernel's queue have no inode. */
function accepted({ host, port }: Address): number {
  const own = sockets().filter(socket => socket.host === host && socket.port === port && socket.inode !== "0")
  return own.filter(({ state }) => state === ESTABLISHED).length
}

/** Ports of a process and its children. */
function listeningPorts(pid: number): readonly Address[] {
  const inodes = new Set(
    [pid, ...children(pid)].flatMap(one =>
      readdirSync(`/proc/${one}/fd`).flatMap(
        fd => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${one}/fd/${fd}`))?.[1] ?? [],
      ),
    ),
  )
  const own = sockets().filter(({ state, inode }) => state === LISTENING && inodes.has(inode))
  return own.map(({ host, port }) => ({ host: host === "0.0.0.0" ? VICTIM : host, port }))
}

function children(pid: number): readonly number[] {
  const own = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(/\s+/).filter(Boolean).map(Number)
  return own.flatMap(child => [child, ...children(child)])
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ""
  }
}
