// SPDX-License-Identifier: Apache-2.0
// A delta client as the protocol describes it, on a connection that delivers when the test says so.

import type { DeltaResponse } from "../delta-type.js"
import { deltaRig, TYPE } from "./delta-rig.js"
import type { MemorySource } from "./memory-source.js"

export class ModelClient {
  /** Versions by name. */
  readonly held = new Map<string, string>()
  readonly wanted = new Set<string>()
  /** Resources that were sent although the client held them and had not subscribed to them again. */
  readonly resent: string[] = []
  readonly #source: MemorySource
  readonly #limits = { ackDeadlineMs: 1_000 }
  #rig: ReturnType<typeof deltaRig>
  #underWay: DeltaResponse[] = []
  /**
   * Names for which a resend on this stream is right: subscribed again, or part of a rejected or unacknowledged
   * response.
   */
  readonly #excused = new Set<string>()

  constructor(source: MemorySource) {
    this.#source = source
    this.#rig = deltaRig(this.#limits, source)
  }

  subscribe(name: string): void {
    this.wanted.add(name)
    if (name !== "*") this.#excused.add(name)
    this.#rig.subscribe(name)
  }

  unsubscribe(name: string): void {
    this.wanted.delete(name)
    this.#excused.add(name)
    this.#rig.unsubscribe(name)
    for (const held of this.held.keys()) if (!this.#wants(held)) this.held.delete(held)
  }

  /** Lets the server send its responses. */
  pump(): void {
    for (let response = this.#rig.next(); response !== undefined; response = this.#rig.next()) {
      this.#underWay.push(response)
    }
  }

  /** Delivers the next response and answers it. */
  receive(answer: "accept" | "refuse" | "reject-half"): boolean {
    const response = this.#underWay.shift()
    if (response === undefined) return false
    const { resources, removed } = response
    for (const { name, version } of resources) {
      if (this.held.get(name) === version && !this.#excused.has(name)) this.resent.push(`${name}@${version}`)
    }
    const names = [...resources.map(({ name }) => name), ...removed]
    if (answer !== "accept") for (const name of names) this.#excused.add(name)
    const taken = answer === "accept" ? names.length : answer === "refuse" ? 0 : names.length / 2
    for (const { name, version } of resources.slice(0, taken)) if (this.#wants(name)) this.held.set(name, version)
    for (const name of removed.slice(0, Math.max(0, taken - resources.length))) this.held.delete(name)
    if (answer === "accept") this.#rig.ack(response)
    else this.#rig.nack(response)
    return true
  }

  hang(): void {
    this.#rig.clock.now += 1_000
    for (const { resources } of this.#underWay) for (const { name } of resources) this.#excused.add(name)
    this.pump()
  }

  reconnect(): void {
    this.#rig.subscriber.close()
    this.#rig = deltaRig(this.#limits, this.#source)
    this.#underWay = []
    this.#excused.clear()
    // A first request without names would subscribe to everything.
    if (this.wanted.size === 0) return
    this.#rig.ask({
      resourceNamesSubscribe: [...this.wanted],
      initialResourceVersions: Object.fromEntries(this.held),
    })
  }

  /** Delivers and accepts everything. */
  settle(): void {
    do this.pump()
    while (this.receive("accept"))
  }

  expected(): ReadonlyMap<string, string> {
    const all = [...this.#source.all(TYPE).values()].filter(({ name }) => this.#wants(name))
    return new Map(all.map(({ name, version }) => [name, version]))
  }

  #wants(name: string): boolean {
    return this.wanted.has("*") || this.wanted.has(name)
  }
}
