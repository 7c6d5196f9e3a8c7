// SPDX-License-Identifier: Apache-2.0
// The fleet from the benchmark's point of view: proxies spread over a few processes.

import { type ChildProcess, fork } from "node:child_process"
import { bundle } from "../../test/resilience/support/bundle.js"
import type { Member, Order, Report } from "./messages.js"

const PROCESSES = 4
const PROGRAM = new URL("./fleet-process.ts", import.meta.url)

export interface Counted {
  readonly resources: number
  /** Connection attempts of all proxies. */
  readonly attempts: number
}

export class Fleet {
  readonly #children: readonly ChildProcess[]
  readonly #shares: readonly (readonly Member[])[]

  private constructor(program: string, proxies: readonly Member[]) {
    this.#shares = Array.from({ length: PROCESSES }, (_, i) => proxies.filter((_, j) => j % PROCESSES === i))
    this.#children = this.#shares.map(() => fork(program, { execArgv: [] }))
  }

  static async start(proxies: readonly Member[]): Promise<Fleet> {
    // As plain JavaScript: with a loader, another thread would be asked for each module that a connecting proxy
    // imports.
    return new Fleet(await bundle(PROGRAM), proxies)
  }

  /** Connects the proxies between two fractions of the fleet, from 0 to 1. */
  connect(address: string, trustBundle: string, from: number, to: number): void {
    for (const [i, share] of this.#shares.entries()) {
      const proxies = share.slice(Math.round(from * share.length), Math.round(to * share.length))
      this.#children[i]?.send({ kind: "connect", address, trustBundle, proxies } satisfies Order)
    }
  }

  /** When the last of the filtered proxies has acknowledged a resource that contains the text. */
  acknowledged(text: string, filter: (proxy: Member) => boolean): Promise<number> {
    return this.#reached(share => ({ kind: "expect", text, proxies: share.filter(filter).length }))
  }

  /** When the last proxy is connected and served; `anew`: on a stream after its current one. */
  served({ anew }: { readonly anew: boolean }): Promise<number> {
    return this.#reached(() => ({ kind: "expectAll", anew }))
  }

  async count(): Promise<Counted> {
    const counts = await Promise.all(this.#children.map(child => ask(child, { kind: "count" }, "counted")))
    const sum = (field: "resources" | "attempts"): number => counts.reduce((all, each) => all + each[field], 0)
    return { resources: sum("resources"), attempts: sum("attempts") }
  }

  close(): void {
    for (const child of this.#children) child.disconnect()
  }

  async #reached(order: (share: readonly Member[]) => Order): Promise<number> {
    const reports = this.#children.map((child, i) => ask(child, order(this.#shares[i] ?? []), "reached"))
    return Math.max(...(await Promise.all(reports)).map(({ at }) => at))
  }
}

function ask<K extends Report["kind"]>(
  child: ChildProcess,
  order: Order,
  kind: K,
): Promise<Extract<Report, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      child.off("message", hear)
      child.off("exit", gone)
      act()
    }
    const hear = (report: Report): void => {
      if (isKind(report, kind)) settle(() => resolve(report))
    }
    const gone = (): void => settle(() => reject(new Error("a process of the fleet ended")))
    child.on("message", hear)
    child.on("exit", gone)
    child.send(order)
  })
}

function isKind<K extends Report["kind"]>(report: Report, kind: K): report is Extract<Report, { kind: K }> {
  return report.kind === kind
}
