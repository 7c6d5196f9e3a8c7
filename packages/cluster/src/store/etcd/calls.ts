// SPDX-License-Identifier: Apache-2.0
// The calls of the store to etcd: ranges, which may be retried, and transactions, which may not.

import type { Connection } from "./connection.js"
import { writeFailure } from "./failure.js"
import type { KeyNames } from "./key-names.js"
import {
  decodeRange,
  decodeTxn,
  encodeRange,
  encodeTxn,
  type KeyValue,
  type RangeRequest,
  type RangeResponse,
  type TxnRequest,
  type TxnResponse,
} from "./messages.js"

const PAGE = 1_000

export interface WholeState {
  readonly state: KeyValue[]
  readonly revision: number
}

export class Calls {
  constructor(
    readonly connection: Connection,
    readonly names: KeyNames,
  ) {}

  readonly range = async (request: RangeRequest): Promise<RangeResponse> =>
    await this.connection.repeatedly("/etcdserverpb.KV/Range", encodeRange(request), decodeRange)

  /** Never retried: see `writeFailure`. */
  readonly txn = async (request: TxnRequest): Promise<TxnResponse> => {
    try {
      return await this.connection.once("/etcdserverpb.KV/Txn", encodeTxn(request), decodeTxn)
    } catch (error) {
      throw writeFailure(error)
    }
  }

  /** Reads everything in the range at one revision, in pages, so that neither side holds it in one message. */
  async readAll(range: { key: string; rangeEnd: string }, revision?: number): Promise<WholeState> {
    const state: KeyValue[] = []
    let { key } = range
    let at = revision
    for (;;) {
      const page = await this.range({ ...range, key, limit: PAGE, ...(at === undefined ? {} : { revision: at }) })
      at ??= page.revision
      for (const kv of page.kvs) {
        const name = this.names.fromEtcd(kv.key)
        if (name !== undefined) state.push({ ...kv, key: name })
      }
      const last = page.kvs.at(-1)
      if (!page.more || last === undefined) return { state, revision: at }
      key = `${last.key}\0`
    }
  }
}
