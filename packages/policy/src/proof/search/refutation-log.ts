// SPDX-License-Identifier: Apache-2.0
// Records why a problem has no solution, so that another program can follow it: a case split whose leaves are a need
// that cannot be met or a ban that holds. Equal steps are written once. The search does not read the log.

import type { Dimension, Value } from "../classes/dimension.js"
import type { Region } from "./formula.js"

type Label = (region: Region) => string

/** The form that a certificate contains. */
export interface Refutation {
  /** Regions of needs, each with a ban that holds wherever it does. */
  readonly covered: readonly (readonly [region: string, ban: string])[]
  /** Each node refers to earlier ones; the last one is the whole refutation. */
  readonly nodes: readonly string[]
}

/** The number of characters that may still be written, for the proofs of one answer. */
export interface Room {
  characters: number
}

export class RefutationLog implements Refutation {
  readonly covered: (readonly [string, string])[] = []
  readonly nodes: string[] = []
  readonly #label: Label
  readonly #room: Room
  readonly #known = new Map<string, number>()

  /** If there is no room left, nothing more is written, and `room` is negative. */
  constructor(label: Label, room: Room) {
    this.#label = label
    this.#room = room
  }

  /** A ban with the same key as the region is not recorded, because it is obvious. */
  cover(region: Region, ban: Region): void {
    if (region.key === ban.key) return
    const pair = [this.#label(region), this.#label(ban)] as const
    this.#room.characters -= pair[0].length + pair[1].length
    if (this.#room.characters >= 0) this.covered.push(pair)
  }

  need(index: number): number {
    return this.#add(`["need",${index}]`)
  }

  ban(ban: Region): number {
    return this.#add(`["ban",${JSON.stringify(this.#label(ban))}]`)
  }

  split(dimension: Dimension, cases: readonly (readonly [Value, number])[], bans: readonly Region[]): number {
    const spelled = cases.map(([value, node]) => `[${valueJson(value)},${node}]`)
    const labels = bans.map(ban => JSON.stringify(this.#label(ban)))
    return this.#add(`["split",${JSON.stringify(dimension.name)},[${spelled.join()}],[${labels.join()}]]`)
  }

  #add(node: string): number {
    let number = this.#known.get(node)
    if (number === undefined) {
      this.#room.characters -= node.length
      if (this.#room.characters < 0) return 0
      number = this.nodes.push(node) - 1
      this.#known.set(node, number)
    }
    return number
  }
}

function valueJson(value: Value): string {
  if (value === undefined) return "null"
  if (typeof value === "string" || !("subject" in value)) return JSON.stringify(value)
  return JSON.stringify({ issuer: value.issuer ?? null, subject: value.subject ?? null })
}
