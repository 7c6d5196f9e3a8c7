// SPDX-License-Identifier: Apache-2.0
// `merlond drain`: the `preStop` hook of an injected proxy. Tells its xserver that the Pod terminates, and, where the
// platform does not end containers in order, returns only when the application has stopped listening.

import { connect } from "node:net"
import { requestDrain } from "@merlon/xserver"
import { Command, InvalidArgumentError, Option } from "commander"
import { whole } from "../arguments.js"

interface Flags {
  readonly state?: string
  readonly application: string
  readonly untilClosed?: readonly number[]
}

/** Until endpoints are gone everywhere, also where the application stops at once. */
const AT_LEAST_MS = 5_000
const PERIOD_MS = 200
const port = whole(1, 65_535)

export function drainCommand(): Command {
  return new Command("drain")
    .description("tell the xserver of a terminating Pod to send its callers elsewhere")
    .option("--state <folder>", "the folder that xserver keeps its state in")
    .addOption(
      new Option(
        "--until-closed <ports>",
        "wait until the application has closed these ports, and at least 5 seconds, as 8080,9090",
      ).argParser(ports),
    )
    .option("--application <host>", "where the application listens", "127.0.0.1")
    .action(async ({ state, application, untilClosed }: Flags) => {
      if (state !== undefined) requestDrain(state)
      if (untilClosed !== undefined) await closed(application, untilClosed, AT_LEAST_MS)
    })
}

/** Whoever calls this bounds it: the kubelet by the Pod's grace period. */
export async function closed(host: string, ports: readonly number[], atLeastMs: number): Promise<void> {
  const end = performance.now() + atLeastMs
  while (performance.now() < end || (await Promise.all(ports.map(one => listens(host, one)))).includes(true)) {
    await new Promise(resolve => setTimeout(resolve, PERIOD_MS))
  }
}

function listens(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port })
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })
}

function ports(text: string): readonly number[] {
  if (text === "") return []
  if (!/^\d+(,\d+)*$/.test(text)) throw new InvalidArgumentError("must be ports, as 8080,9090")
  return text.split(",").map(one => port(one))
}
