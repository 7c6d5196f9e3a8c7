// SPDX-License-Identifier: Apache-2.0
// Which port a listener gets: the one that was asked for or none; else the one it had before, so that what people noted
// down stays true; else the usual one, or the next that is free, and then that is said.

import { CommandError } from "../ctl/exit.js"
import type { Look, Vacancy } from "./free-port.js"

export interface PortWish {
  /** For people: `the API`. */
  readonly what: string
  readonly asked?: number | undefined
  readonly remembered?: number | undefined
  readonly usual: number
  /** Where to look on when the usual one cannot be had. */
  readonly otherwise?: number
}

export interface ChosenPort {
  readonly port: number
  /** What to tell, where it is not the one that people expect. */
  readonly note: string | undefined
}

const MOST_TRIES = 500

/** `used` are ports that others of the same mesh have got. */
export async function choosePort(wish: PortWish, address: string, look: Look, used: Set<number>): Promise<ChosenPort> {
  const { what, asked, remembered, usual, otherwise = usual + 1 } = wish
  const see = async (port: number): Promise<Vacancy> => (used.has(port) ? "taken" : look(address, port))
  const take = (port: number, note?: string): ChosenPort => {
    used.add(port)
    return { port, note }
  }
  if (asked !== undefined) {
    const seen = await see(asked)
    if (seen === "free") return take(asked)
    throw new CommandError(`port ${asked} for ${what} is ${seen}; choose another one, or leave the flag out`)
  }
  const first = remembered ?? usual
  const seen = await see(first)
  if (seen === "free") return take(first)
  for (let port = otherwise; port < Math.min(otherwise + MOST_TRIES, 65_536); port++) {
    if ((await see(port)) === "free") return take(port, `port ${first} is ${seen}: ${what} is at ${port}`)
  }
  throw new CommandError(`there is no free port for ${what} from ${otherwise} on`)
}
