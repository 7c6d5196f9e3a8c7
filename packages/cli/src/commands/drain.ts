// SPDX-License-Identifier: Apache-2.0
// `merlond drain`: the `preStop` hook of an injected proxy. Tells its xserver that the Pod terminates. Where the platform
// does not stop containers in order, it returns only when the application has stopped listening.

import { connect, isIP } from "node:net"
import { requestDrain } from "@merlon/xserver/drain"
import { Command, InvalidArgumentError, Option } from "commander"
import { whole } from "../arguments.js"

interface Flags {
  readonly state?: string
  readonly application: readonly string[]
  readonly untilClosed?: readonly number[]
}

/** The time for endpoints to be removed everywhere, also if the application stops at once. */
const AT_LEAST_MS = 5_000
const PERIOD_MS = 200
const port = whole(1, 65_535)

export function drainCommand(): Command {
  return new Command("drain")
    .description("Make the proxy of a terminating Pod drain its callers")
    .option("--state <folder>", "the folder that xserver keeps its state in")
    .addOption(
      new Option(
        "--until-closed <ports>",
        "wait until the application has closed these ports, and at least 5 seconds, as 8080,9090",
      ).argParser(ports),
    )
    .addOption(
      new Option("--application <addresses>", "where the application may listen")
        .argParser(addresses)
        .default(["127.0.0.1", "::1", ...addresses(process.env.POD_IPS ?? "")], "loopback and $POD_IPS"),
    )
    .action(async ({ state, application, untilClosed }: Flags) => {
      if (state !== undefined) requestDrain(state)
      if (untilClosed !== undefined) await closed(application, untilClosed, AT_LEAST_MS)
    })
}

/** Has no timeout: the kubelet bounds it by the Pod's grace period. */
export async function closed(hosts: readonly string[], ports: readonly number[], atLeastMs: number): Promise<void> {
  const end = performance.now() + atLeastMs
  const places = hosts.flatMap(host => ports.map(port => ({ host, port })))
  while (performance.now() < end || (await Promise.all(places.map(listens))).includes(true)) {
    await new Promise(resolve => setTimeout(resolve, PERIOD_MS))
  }
}

function listens(place: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(place)
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })
}

function addresses(text: string): readonly string[] {
  return text.split(",").filter(address => isIP(address) !== 0)
}

function ports(text: string): readonly number[] {
  if (text === "") return []
  if (!/^\d+(,\d+)*$/.test(text)) throw new InvalidArgumentError("must be ports, as 8080,9090")
  return text.split(",").map(one => port(one))
}
