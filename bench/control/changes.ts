// SPDX-License-Identifier: Apache-2.0
// Changes of one policy, one after the other: from the start of the request that applies it to the last acknowledgement
// and to `Enforced=True` as a watch sees it.

import { cpuMicroseconds } from "../cluster/process-cost.js"
import type { Api, ApiObject } from "./api.js"
import type { Fleet } from "./fleet.js"
import { EVERY_POLICY, policyPath, ruleOf } from "./mesh-contents.js"
import { type Member, monotonicMs } from "./messages.js"

export interface ChangeFigures {
  /** Median and maximum over the changes. */
  readonly acknowledgedMs: number
  readonly worstMs: number
  readonly enforcedMs: number
  /** CPU of the control plane, including admission and status. */
  readonly cpuPerChangeMs: number
  readonly cpuPerResourceUs: number
}

export interface ChangeOrder {
  readonly fleet: Fleet
  readonly server: readonly number[]
  readonly rounds: number
  /** Uncounted changes before the measurement, so that V8 has compiled the code: a control plane runs for weeks. */
  readonly warmUp: number
  readonly policy: { readonly namespace: string; readonly name: string }
  readonly touches: (proxy: Member) => boolean
}

export class Changes {
  readonly #api: Api
  /** When each policy was first seen enforced, by name and generation. */
  readonly #enforced = new Map<string, number>()
  #wake: () => void = () => undefined
  #serial = 0

  private constructor(api: Api) {
    this.#api = api
  }

  static async watch(api: Api): Promise<Changes> {
    const changes = new Changes(api)
    await api.watch(EVERY_POLICY, object => changes.#see(object))
    return changes
  }

  async measure(order: ChangeOrder): Promise<ChangeFigures> {
    for (let i = 0; i < order.warmUp; i++) await this.#change(order)
    const cpu = cpuMicroseconds(order.server)
    const { resources } = await order.fleet.count()
    const rounds: { readonly acknowledged: number; readonly enforced: number }[] = []
    for (let i = 0; i < order.rounds; i++) rounds.push(await this.#change(order))
    const pushed = (await order.fleet.count()).resources - resources
    const used = cpuMicroseconds(order.server) - cpu
    const acknowledged = rounds.map(round => round.acknowledged).sort((a, b) => a - b)
    return {
      acknowledgedMs: Math.round(median(acknowledged)),
      worstMs: Math.round(acknowledged.at(-1) ?? Number.NaN),
      enforcedMs: Math.round(median(rounds.map(round => round.enforced))),
      cpuPerChangeMs: Number((used / 1_000 / order.rounds).toFixed(1)),
      cpuPerResourceUs: Math.round(used / pushed),
    }
  }

  async #change({ fleet, policy, touches }: ChangeOrder): Promise<{ acknowledged: number; enforced: number }> {
    this.#serial++
    const text = `change-${this.#serial}-`
    const last = fleet.acknowledged(text, touches)
    // The fleet must receive its orders before the change.
    await fleet.count()
    const started = monotonicMs()
    const { metadata } = await this.#api.merge(policyPath(policy), { spec: ruleOf(text) })
    const acknowledged = (await last) - started
    const enforced = (await this.#enforcedAt(keyOf(metadata.name, metadata.generation))) - started
    return { acknowledged, enforced }
  }

  async #enforcedAt(key: string): Promise<number> {
    for (;;) {
      const at = this.#enforced.get(key)
      if (at !== undefined) return at
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  #see({ metadata, status }: ApiObject): void {
    const enforced = status?.conditions?.find(({ type }) => type === "Enforced")
    if (enforced?.status !== "True" || enforced.observedGeneration !== metadata.generation) return
    const key = keyOf(metadata.name, metadata.generation)
    if (!this.#enforced.has(key)) this.#enforced.set(key, monotonicMs())
    this.#wake()
  }
}

function keyOf(name: string, generation: number | undefined): string {
  return `${name}@${generation}`
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
