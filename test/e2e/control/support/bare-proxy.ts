// SPDX-License-Identifier: Apache-2.0
// A proxy that enforces nothing and responds as a test wants: later, never, or with a rejection. It records what it
// received.

import { PROXY_RESOURCE } from "@merlon/xds"
import { MeshClient, type Update } from "@merlon/xds/client"
import { expect, vi } from "vitest"
import { names, WAIT } from "./cluster-api.js"
import type { DeclaredWorkload } from "./declared-workload.js"

/** Resolves to acknowledge, throws to reject. */
export type Behaviour = (update: Update) => Promise<void>

export const acknowledge: Behaviour = () => Promise.resolve()
export const never: Behaviour = () => new Promise(() => undefined)
export const reject =
  (reason: string): Behaviour =>
  () =>
    Promise.reject(new Error(reason))

export class BareProxy {
  readonly updates: Update[] = []
  /** The held versions, by name. */
  readonly held = new Map<string, string>()
  /** The reason of each disconnect. */
  readonly ends: string[] = []
  /** The errors that the client reported. */
  readonly troubles: string[] = []
  readonly client: MeshClient
  behaviour: Behaviour = acknowledge

  constructor(workload: DeclaredWorkload, metadata: object = {}, port = workload.declaration.meshPort) {
    this.client = new MeshClient({
      address: `127.0.0.1:${port}`,
      serverName: `${names.mesh}d.${names.rootNamespace}.svc`,
      trustBundle: () => workload.trustBundle,
      proof: () => ({ token: workload.token }),
      node: { id: workload.key, metadata: () => ({ address: workload.address, ...metadata }) },
      subscriptions: [
        {
          typeUrl: PROXY_RESOURCE,
          names: () => "*",
          known: () => this.held,
          apply: update => this.#apply(update),
        },
      ],
      log: {
        info: () => undefined,
        warn: fields => void this.troubles.push(JSON.stringify(fields)),
        error: fields => void this.troubles.push(JSON.stringify(fields)),
      },
    })
    this.client.onConnection((connected, why) => {
      if (!connected) this.ends.push(why ?? "")
    })
    this.client.start()
  }

  /** Resolves when it has received its first configuration and acknowledged it. */
  async ready(): Promise<this> {
    await vi.waitFor(() => expect(this.held.has("workload"), this.troubles.join("\n")).toBe(true), WAIT)
    return this
  }

  /** Names of the received resources, in order. */
  get sent(): readonly string[] {
    return this.updates.flatMap(({ resources }) => resources.map(({ name }) => name))
  }

  close(): void {
    this.client.close()
  }

  async #apply(update: Update): Promise<void> {
    this.updates.push(update)
    await this.behaviour(update)
    for (const { name, version } of update.resources) this.held.set(name, version)
    for (const name of update.removed) this.held.delete(name)
  }
}
