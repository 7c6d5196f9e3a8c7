// SPDX-License-Identifier: Apache-2.0
// Messages between the benchmark and its fleet processes. Times are milliseconds of CLOCK_MONOTONIC, which all
// processes of a machine share.

export interface Member {
  readonly namespace: string
  readonly name: string
  readonly address: string
  readonly token: string
}

export type Order =
  | {
      readonly kind: "connect"
      readonly address: string
      readonly trustBundle: string
      readonly proxies: readonly Member[]
    }
  /** Answered with `reached` when this many proxies have acknowledged a resource that contains the text. */
  | { readonly kind: "expect"; readonly text: string; readonly proxies: number }
  /** Answered with `reached` when all are connected and served; with `anew`, on a new stream. */
  | { readonly kind: "expectAll"; readonly anew: boolean }
  | { readonly kind: "count" }

export type Report =
  | { readonly kind: "reached"; readonly at: number }
  | { readonly kind: "counted"; readonly resources: number; readonly attempts: number }

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
