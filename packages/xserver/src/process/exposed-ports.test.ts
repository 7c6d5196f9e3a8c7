// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { expect, it } from "vitest"
import type { ApplicationPort } from "../config/application-port.js"
import { exposedIn, exposedPorts } from "./exposed-ports.js"

const port = (number: number, host = "127.0.0.1", listen = 15_080): ApplicationPort => ({
  listen: { host: "0.0.0.0", port: listen },
  port: number,
  upstream: { host, port: number },
  protocol: "auto",
  upstreamProtocol: "http/1.1",
  serviceNames: [],
})
const socket = (address: string, number: number, { state = "0A", uid = 1000 } = {}) =>
  `   0: ${address}:${number.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 4711 1`
const ANY = "00000000"
const LOOPBACK = "0100007F"
const LOOPBACK6 = "00000000000000000000000001000000"
const MACHINE = "0700000A"

it.each<[string, readonly string[], ApplicationPort, readonly number[]]>([
  ["an application on all addresses", [socket(ANY, 8080)], port(8080), [8080]],
  ["an application on all IPv6 addresses", [socket(ANY.repeat(4), 8080)], port(8080), [8080]],
  ["an application on loopback", [socket(LOOPBACK, 8080)], port(8080), []],
  ["an application on loopback and on all addresses", [socket(LOOPBACK, 8080), socket(ANY, 8080)], port(8080), [8080]],
  ["one on loopback and all IPv6 addresses", [socket(LOOPBACK, 8080), socket(ANY.repeat(4), 8080)], port(8080), [8080]],
  ["one on loopback and at the machine's address", [socket(LOOPBACK, 8080), socket(MACHINE, 8080)], port(8080), [8080]],
  [
    "an application on loopback beside another user's program",
    [socket(LOOPBACK, 8080), socket(ANY.repeat(4), 8080, { uid: 33 })],
    port(8080),
    [],
  ],
  ["an application on loopback of both versions", [socket(LOOPBACK, 8080), socket(LOOPBACK6, 8080)], port(8080), []],
  [
    "an application on IPv6 loopback and on all addresses",
    [socket(LOOPBACK6, 8080), socket(ANY, 8080)],
    port(8080, "::1"),
    [8080],
  ],
  ["an application at the machine's address", [socket(MACHINE, 8080)], port(8080, "10.0.0.7"), [8080]],
  ["an application at another port", [socket(ANY, 9090)], port(8080), []],
  ["a connection, which does not listen", [socket(ANY, 8080, { state: "01" })], port(8080), []],
  ["the proxy at the same port number", [socket(ANY, 8080)], port(8080, "127.0.0.1", 8080), []],
  [
    "an application behind the proxy at the same number",
    [socket(LOOPBACK, 8080), socket(ANY, 8080)],
    port(8080, "127.0.0.1", 8080),
    [],
  ],
  ["nothing", [], port(8080), []],
])("%s", (_, sockets, application, expected) => {
  expect(exposedIn(sockets.join("\n"), [application])).toEqual(expected)
})

it.runIf(process.platform === "linux")("reads the kernel's list (needs Linux)", async () => {
  const answers = async (host: string): Promise<boolean> => {
    const server = createServer().listen(0, host)
    await once(server, "listening")
    const { port: number } = server.address() as AddressInfo // a TCP server has an AddressInfo
    const found = await exposedPorts([port(number)])
    server.close()
    return found.includes(number)
  }
  expect(await answers("127.0.0.1")).toBe(false)
  expect(await answers("0.0.0.0")).toBe(true)
})
