// SPDX-License-Identifier: Apache-2.0
// Flags that give a mesh its own ports and addresses. Every listener gets one: otherwise a mesh would take the default
// port, and another test's mesh could take it between two starts.

import { randomInt } from "node:crypto"
import { claim } from "../../../../packages/cluster/src/store/testing/claim.js"
import { freePort } from "../../../../packages/cluster/src/store/testing/free-port.js"

const LISTENERS = ["--api-port", "--mesh-port", "--webhook-port", "--health-port", "--console-port"]
const SAMPLES = ["httpbin.foo", "web.app"]
/** Outside of the blocks that `up` chooses itself. */
export const BLOCKS = { first: 33, beyond: 255 }
/** Port of the first proxy of a block. */
const XSERVER = 15_080

/** For a mesh with `--no-samples`. */
export async function ownPorts(): Promise<readonly string[]> {
  const flags = await Promise.all(LISTENERS.map(async flag => [flag, String(await freePort())]))
  return ["--block", String(await ownBlock()), ...flags.flat()]
}

/** For a mesh with its samples, which are called from outside. */
export async function ownAndIngressPorts(): Promise<readonly string[]> {
  const ways = await Promise.all(SAMPLES.map(async service => ["--expose", `${service}=${await freePort()}`]))
  return [...(await ownPorts()), ...ways.flat()]
}

/** A number N such that no other test uses the addresses 127.N.0.x. */
async function ownBlock(): Promise<number> {
  for (;;) {
    const block = randomInt(BLOCKS.first, BLOCKS.beyond)
    if (await claim(`127.${block}.0.1`, XSERVER)) return block
  }
}
