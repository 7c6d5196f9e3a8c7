// SPDX-License-Identifier: Apache-2.0
// The cost of the same traffic on Node itself, as a lower bound for the goals: a server with only TLS, as many
// connections from as many other processes, writing the bytes of a push to each and reading the bytes of an
// acknowledgement.

import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { TestAuthority } from "../../packages/xds/src/testing/test-authority.js"
import { cpuMicroseconds, residentKilobytes } from "../cluster/process-cost.js"
import type { BareClientsOrder, BareServerOrder } from "./bare-messages.js"
import { Program } from "./servers.js"

export interface FloorFigures {
  readonly connections: number
  readonly cpuPerPushUs: number
  readonly kilobytesPerConnection: number
}

/** The same number as the fleet has. */
const PROCESSES = 4
const WARM_UP = 10
const SERVER = fileURLToPath(new URL("./bare-server.ts", import.meta.url))
const CLIENTS = new URL("./bare-clients.ts", import.meta.url)
const FLAGS = ["--import", "tsx"]

export async function measureFloor(connections: number, rounds: number): Promise<FloorFigures> {
  const authority = new TestAuthority()
  const { chain, privateKey } = authority.server()
  const given: BareServerOrder = { chain, privateKey, bundle: authority.bundle }
  const server = await Program.start(SERVER, [JSON.stringify(given)], /listening/, FLAGS)
  const clients = Array.from({ length: PROCESSES }, () => fork(CLIENTS, { execArgv: FLAGS }))
  try {
    const workload = authority.workload()
    const port = Number(/listening (\d+)/.exec(server.output)?.[1])
    const half = connections / 2
    const order: BareClientsOrder = { port, ...given, ...workload, connections: half / PROCESSES }
    // The first half fills memory that startup left free.
    await each(clients, client => client.send(order))
    const before = await resident(server, half)
    await each(clients, client => client.send(order))
    const kilobytes = (await resident(server, connections)) - before
    for (let i = 0; i < WARM_UP; i++) await push(server, clients)
    const cpu = cpuMicroseconds([server.pid])
    for (let i = 0; i < rounds; i++) await push(server, clients)
    const used = cpuMicroseconds([server.pid]) - cpu
    return {
      connections,
      cpuPerPushUs: Math.round(used / rounds / connections),
      kilobytesPerConnection: Number((kilobytes / half).toFixed(1)),
    }
  } finally {
    for (const client of clients) client.disconnect()
    await server.stop()
  }
}

function push(server: Program, clients: readonly ChildProcess[]): Promise<void> {
  return each(
    clients,
    () => undefined,
    () => process.kill(server.pid, "SIGHUP"),
  )
}

/** Resolves when each has reported that it is done. */
async function each(
  clients: readonly ChildProcess[],
  notify: (client: ChildProcess) => void,
  begin: () => void = () => undefined,
): Promise<void> {
  const done = clients.map(client => once(client, "message"))
  for (const client of clients) notify(client)
  begin()
  await Promise.all(done)
}

async function resident(server: Program, connected: number): Promise<number> {
  await server.quiet(connected)
  await server.collectGarbage()
  return residentKilobytes(server.pid)
}
