// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the dozen messages of etcd's v3 API that this store uses. Field numbers are those of etcd's
// rpc.proto and kv.proto. Unknown fields are skipped, so newer servers work.

import { BinaryReader, BinaryWriter, type WireType } from "@bufbuild/protobuf/wire"

export interface KeyValue {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
}

export interface RangeRequest {
  readonly key: string
  readonly rangeEnd?: string
  readonly limit?: number
  readonly revision?: number
  readonly keysOnly?: boolean
  readonly countOnly?: boolean
}

export interface RangeResponse {
  readonly revision: number
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
  /** The number of keys in the whole range, regardless of the limit. */
  readonly count: number
}

type Change = { readonly key: string; readonly value: string } | { readonly key: string; readonly delete: true }

export interface TxnRequest {
  readonly compares: readonly { readonly key: string; readonly modRevision: number }[]
  readonly success: readonly Change[]
}

export interface TxnResponse {
  readonly revision: number
  readonly succeeded: boolean
  /** False if the transaction only deleted keys that did not exist. */
  readonly changed: boolean
}

export interface WatchCreate {
  readonly key: string
  readonly rangeEnd: string
  readonly startRevision: number
}

interface WatchedChange {
  readonly deleted: boolean
  readonly kv: KeyValue
}

export interface WatchResponse {
  /** The store's revision. If the response has no events, everything up to this revision has been sent. */
  readonly revision: number
  readonly watchId: number
  readonly created: boolean
  readonly canceled: boolean
  /** Greater than 0 if the watch was rejected because the history up to this revision is compacted. */
  readonly compactRevision: number
  readonly cancelReason: string
  readonly events: readonly WatchedChange[]
}

/** A message while its fields are decoded, in any order. */
type Draft<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer I)[] ? I[] : T[K] }

const RESULT_EQUAL = 0
const TARGET_MOD = 2
const EVENT_DELETE = 1

const utf8 = new TextEncoder()
const bytes = (text: string): Uint8Array => utf8.encode(text)
const finish = (writer: BinaryWriter): Buffer => Buffer.from(writer.finish())

const LENGTH_DELIMITED: WireType = 2
const VARINT: WireType = 0
const tag = (writer: BinaryWriter, field: number, type: WireType): BinaryWriter => writer.tag(field, type)

export function encodeRange(request: RangeRequest): Buffer {
  const out = new BinaryWriter()
  tag(out, 1, LENGTH_DELIMITED).bytes(bytes(request.key))
  if (request.rangeEnd !== undefined) tag(out, 2, LENGTH_DELIMITED).bytes(bytes(request.rangeEnd))
  if (request.limit !== undefined) tag(out, 3, VARINT).int64(request.limit)
  if (request.revision !== undefined) tag(out, 4, VARINT).int64(request.revision)
  if (request.keysOnly === true) tag(out, 8, VARINT).bool(true)
  if (request.countOnly === true) tag(out, 9, VARINT).bool(true)
  return finish(out)
}

export function encodeTxn(request: TxnRequest): Buffer {
  const out = new BinaryWriter()
  for (const { key, modRevision } of request.compares) {
    tag(out, 1, LENGTH_DELIMITED).fork()
    tag(out, 1, VARINT).int32(RESULT_EQUAL)
    tag(out, 2, VARINT).int32(TARGET_MOD)
    tag(out, 3, LENGTH_DELIMITED).bytes(bytes(key))
    tag(out, 6, VARINT).int64(modRevision)
    out.join()
  }
  for (const write of request.success) {
    tag(out, 2, LENGTH_DELIMITED).fork()
    tag(out, "delete" in write ? 3 : 2, LENGTH_DELIMITED).fork()
    tag(out, 1, LENGTH_DELIMITED).bytes(bytes(write.key))
    if ("value" in write) tag(out, 2, LENGTH_DELIMITED).bytes(bytes(write.value))
    out.join().join()
  }
  return finish(out)
}

export function encodeCompaction(revision: number): Buffer {
  return finish(tag(new BinaryWriter(), 1, VARINT).int64(revision))
}

export function encodeWatchCreate({ key, rangeEnd, startRevision }: WatchCreate): Buffer {
  const out = tag(new BinaryWriter(), 1, LENGTH_DELIMITED).fork()
  tag(out, 1, LENGTH_DELIMITED).bytes(bytes(key))
  tag(out, 2, LENGTH_DELIMITED).bytes(bytes(rangeEnd))
  tag(out, 3, VARINT).int64(startRevision)
  tag(out, 4, VARINT).bool(true) // progress_notify
  return finish(out.join())
}

export function encodeAuthenticate(name: string, password: string): Buffer {
  const out = new BinaryWriter()
  tag(out, 1, LENGTH_DELIMITED).string(name)
  tag(out, 2, LENGTH_DELIMITED).string(password)
  return finish(out)
}

export function decodeRange(data: Uint8Array): RangeResponse {
  const out: Draft<RangeResponse> = { revision: 0, kvs: [], more: false, count: 0 }
  read(data, {
    1: reader => {
      out.revision = headerRevision(reader.bytes())
    },
    2: reader => out.kvs.push(decodeKeyValue(reader.bytes())),
    3: reader => {
      out.more = reader.bool()
    },
    4: reader => {
      out.count = int(reader)
    },
  })
  return out
}

export function decodeTxn(data: Uint8Array): TxnResponse {
  const out: Draft<TxnResponse> = { revision: 0, succeeded: false, changed: false }
  read(data, {
    1: reader => {
      out.revision = headerRevision(reader.bytes())
    },
    2: reader => {
      out.succeeded = reader.bool()
    },
    3: reader => {
      read(reader.bytes(), {
        2: put => {
          put.bytes()
          out.changed = true
        },
        3: deletion => {
          if (deletedKeys(deletion.bytes()) > 0) out.changed = true
        },
      })
    },
  })
  return out
}

function deletedKeys(data: Uint8Array): number {
  let count = 0
  read(data, {
    2: reader => {
      count = int(reader)
    },
  })
  return count
}

export function decodeWatch(data: Uint8Array): WatchResponse {
  const out: Draft<WatchResponse> = {
    revision: 0,
    watchId: 0,
    created: false,
    canceled: false,
    compactRevision: 0,
    cancelReason: "",
    events: [],
  }
  read(data, {
    1: reader => {
      out.revision = headerRevision(reader.bytes())
    },
    2: reader => {
      out.watchId = int(reader)
    },
    3: reader => {
      out.created = reader.bool()
    },
    4: reader => {
      out.canceled = reader.bool()
    },
    5: reader => {
      out.compactRevision = int(reader)
    },
    6: reader => {
      out.cancelReason = reader.string()
    },
    11: reader => {
      const event: Draft<WatchedChange> = {
        deleted: false,
        kv: { key: "", value: "", createRevision: 0, modRevision: 0 },
      }
      read(reader.bytes(), {
        1: inner => {
          event.deleted = inner.int32() === EVENT_DELETE
        },
        2: inner => {
          event.kv = decodeKeyValue(inner.bytes())
        },
      })
      out.events.push(event)
    },
  })
  return out
}

/** The token of an AuthenticateResponse, or the version of a StatusResponse: both are the second field. */
export function decodeText(data: Uint8Array): string {
  let out = ""
  read(data, {
    2: reader => {
      out = reader.string()
    },
  })
  return out
}

function decodeKeyValue(data: Uint8Array): KeyValue {
  const out: Draft<KeyValue> = { key: "", value: "", createRevision: 0, modRevision: 0 }
  read(data, {
    1: reader => {
      out.key = text(reader.bytes())
    },
    2: reader => {
      out.createRevision = int(reader)
    },
    3: reader => {
      out.modRevision = int(reader)
    },
    5: reader => {
      out.value = text(reader.bytes())
    },
  })
  return out
}

function headerRevision(data: Uint8Array): number {
  let revision = 0
  read(data, {
    3: reader => {
      revision = int(reader)
    },
  })
  return revision
}

type Fields = Readonly<Record<number, (reader: BinaryReader) => void>>

function read(data: Uint8Array, fields: Fields): void {
  const reader = new BinaryReader(data)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    const take = fields[field]
    if (take === undefined) reader.skip(type, field)
    else take(reader)
  }
}

function text(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8")
}

function int(reader: BinaryReader): number {
  const value = Number(reader.int64())
  // A rounded number would silently be a different revision.
  if (!Number.isSafeInteger(value)) throw new RangeError(`etcd sent ${value}, which is beyond exact integers`)
  return value
}
