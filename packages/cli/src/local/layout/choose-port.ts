// SPDX-License-Identifier: Apache-2.0
// Chooses the port of a listener: exactly the requested one; else the previous one, so that known addresses stay valid;
// else the usual one, or the next free one with a note. A fallback port is given up once the usual one is free.

import { CommandError } from "../../ctl/exit.js"
import type { Look, PortState } from "./free-port.js"

export interface PortRequest {
  /** The listener in messages: `the API`. */
  readonly what: string
  readonly asked?: number | undefined
  readonly remembered?: number | undefined
  /** Whether the previous port was a fallback while the usual one was taken. */
  readonly wasFallback?: boolean
  readonly usual: number
  /** Where the search continues if the usual one is taken. */
  readonly otherwise?: number
}

export interface ChosenPort {
  readonly port: number
  /** A note for the user if it is not the usual port. */
  readonly note: string | undefined
  /** Whether it is a fallback. */
  readonly isFallback: boolean
}

const MOST_TRIES = 500

/** `used`: ports of other listeners of the same mesh. */
export async function choosePort(
  request: PortRequest,
  address: string,
  look: Look,
  used: Set<number>,
): Promise<ChosenPort> {
  const { what, asked, remembered, wasFallback = false, usual, otherwise = usual + 1 } = request
  const see = async (port: number): Promise<PortState> => (used.has(port) ? "taken" : look(address, port))
  const take = (port: number, note?: string): ChosenPort => {
    used.add(port)
    return { port, note, isFallback: note !== undefined }
  }
  if (asked !== undefined) {
    const seen = await see(asked)
    if (seen === "free") return take(asked)
    throw new CommandError(
      "port-unavailable",
      `port ${asked} for ${what} is ${seen}; choose another one, or leave the flag out`,
    )
  }
  const first = wasFallback ? usual : (remembered ?? usual)
  const seen = await see(first)
  if (seen === "free") return take(first)
  const fallBackTo = (port: number): ChosenPort => take(port, `port ${first} is ${seen}: ${what} is at ${port}`)
  if (wasFallback && remembered !== undefined && (await see(remembered)) === "free") return fallBackTo(remembered)
  for (let port = otherwise; port < Math.min(otherwise + MOST_TRIES, 65_536); port++) {
    if ((await see(port)) === "free") return fallBackTo(port)
  }
  throw new CommandError("port-unavailable", `there is no free port for ${what} from ${otherwise} on`)
}
