// SPDX-License-Identifier: Apache-2.0
// A mesh client for tests that records what it receives. `reject` makes it reject updates.

import type { Log } from "../../runtime/log.js"
import { SERVER_NAME } from "../../testing/test-authority.js"
import { MeshClient } from "../mesh-client.js"
import type { MeshClientOptions, Proof, Update } from "../options.js"

export const TYPE = "type.googleapis.com/test.Thing"

export interface ClientRigOptions {
  readonly address: string
  readonly bundle: string
  readonly proof?: Proof
  readonly limits?: MeshClientOptions["limits"]
  readonly names?: "*" | readonly string[]
  readonly observations?: MeshClientOptions["observations"]
}

export function clientRig(options: ClientRigOptions) {
  const { address, bundle, proof = { token: "good:orders-1" }, limits, names, observations } = options
  const held = new Map<string, string>()
  const updates: Update[] = []
  const connections: (readonly [boolean, string | undefined])[] = []
  const logged: { readonly fields: object; readonly message: string }[] = []
  const note = (fields: object, message: string) => void logged.push({ fields, message })
  const log: Log = { info: note, warn: note, error: note }
  const state = {
    proof,
    bundle,
    names: names ?? "*",
    reject: undefined as string | undefined,
    gate: undefined as Promise<void> | undefined,
  }
  const client = new MeshClient({
    address,
    serverName: SERVER_NAME,
    trustBundle: () => state.bundle,
    proof: () => state.proof,
    node: { id: "shop/orders-1", metadata: () => ({ version: "test", held: held.size }) },
    subscriptions: [
      {
        typeUrl: TYPE,
        names: () => state.names,
        known: () => held,
        async apply(update) {
          updates.push(update)
          await state.gate
          if (state.reject !== undefined) throw new Error(state.reject)
          for (const { name, version } of update.resources) held.set(name, version)
          for (const name of update.removed) held.delete(name)
        },
      },
    ],
    ...(observations === undefined ? {} : { observations }),
    log,
    random: () => 0.5,
    limits: { retryMs: 20, longestRetryMs: 40, firstRetryMs: 10, stableAfterMs: 0, ...limits },
  })
  client.onConnection((connected, why) => void connections.push([connected, why]))
  return { client, held, updates, connections, logged, state }
}

export type ClientRig = ReturnType<typeof clientRig>
