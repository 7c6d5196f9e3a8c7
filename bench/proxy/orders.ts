// SPDX-License-Identifier: Apache-2.0
// How callers receive orders: as separate processes, so that their cost is not counted. Each order is a line of JSON,
// and so is each reply.

import { createInterface } from "node:readline"

/** Connections are opened before the measured time. */
export type LoadOrder = "open" | { readonly seconds: number }

export interface LoadFigures {
  readonly requests: number
  readonly errors: number
  readonly seconds: number
  readonly latenciesMs: readonly number[]
}

export interface Load {
  /** Keeps connections that are still open from the last time. */
  open(): Promise<void>
  run(seconds: number): Promise<LoadFigures>
}

export async function runOrders(load: Load): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const order: LoadOrder = JSON.parse(line)
    let answer: LoadFigures | Record<string, never> = {}
    if (order === "open") await load.open()
    else answer = await load.run(order.seconds)
    console.log(JSON.stringify(answer))
  }
}
