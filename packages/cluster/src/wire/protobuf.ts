// SPDX-License-Identifier: Apache-2.0
// Decodes the protobuf request bodies of kubectl: the k8s envelope and, by the generated field numbers, any built-in
// type. Malformed bytes fail with the messages of Kubernetes' own decoder.

import { type FieldDef, type StructNode, schemaPropsType, type TypeNode, wireFields } from "../kinds/type-table.js"
import { asObject, type Json, type JsonObject, setKey } from "../value.js"
import { printMicroTime, printTime } from "./go-time.js"
import { parseJson } from "./json.js"

export class ProtobufError extends Error {}

const MAGIC = [0x6b, 0x38, 0x73, 0x00]

export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

export function openEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length === 0) throw new ProtobufError("empty data")
  if (!MAGIC.every((byte, i) => bytes[i] === byte))
    throw new ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
  if (bytes.length === MAGIC.length) throw new ProtobufError("empty body")
  let apiVersion = ""
  let kind = ""
  let raw: Uint8Array = new Uint8Array()
  for (const field of fields(bytes.subarray(4))) {
    if (field.number === 1)
      for (const inner of fields(bytesOf(field))) {
        if (inner.number === 1) apiVersion = text(inner)
        if (inner.number === 2) kind = text(inner)
      }
    if (field.number === 2) raw = bytesOf(field)
  }
  return { apiVersion, kind, raw }
}

interface WireField {
  readonly number: number
  readonly value: bigint | Uint8Array
}

function* fields(bytes: Uint8Array): Generator<WireField> {
  let at = 0
  const varint = (): bigint => {
    let result = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new ProtobufError("unexpected EOF")
      result |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, result)
    }
    throw new ProtobufError("proto: integer overflow")
  }
  const take = (length: number): Uint8Array => {
    if (length < 0 || at + length > bytes.length) throw new ProtobufError("unexpected EOF")
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = varint()
    const number = Number(tag >> 3n)
    if (number <= 0) throw new ProtobufError(`proto: illegal tag ${number} (wire type ${tag & 7n})`)
    switch (Number(tag & 7n)) {
      case 0:
        yield { number, value: varint() }
        break
      case 1:
        yield { number, value: take(8) }
        break
      case 2: {
        const length = varint()
        if (length > 0x7fffffffn) throw new ProtobufError("unexpected EOF")
        yield { number, value: take(Number(length)) }
        break
      }
      case 5:
        yield { number, value: take(4) }
        break
      default:
        throw new ProtobufError(`proto: illegal wireType ${tag & 7n}`)
    }
  }
}

function bytesOf(field: WireField): Uint8Array {
  if (typeof field.value === "bigint") throw new ProtobufError(`proto: wrong wireType = 0 for field ${field.number}`)
  return field.value
}

const utf8 = new TextDecoder("utf-8")
const text = (field: WireField): string => utf8.decode(bytesOf(field))

function integer(field: WireField): Json {
  if (typeof field.value !== "bigint") throw new ProtobufError(`proto: wrong wireType = 2 for field ${field.number}`)
  const signed = BigInt.asIntN(64, field.value)
  return signed >= BigInt(Number.MIN_SAFE_INTEGER) && signed <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(signed)
    : signed
}

export function decodeMessage(type: StructNode, bytes: Uint8Array): JsonObject {
  const out: JsonObject = {}
  readInto(type, bytes, out, 0)
  return out
}

function readInto(type: StructNode, bytes: Uint8Array, out: JsonObject, depth: number): void {
  if (depth > 100) throw new ProtobufError("proto: exceeded max depth")
  const known = wireFields(type)
  for (const field of fields(bytes)) {
    const target = known.get(field.number)
    if (target === undefined) continue
    if ("fields" in target) readInto(target, bytesOf(field), out, depth + 1)
    else readField(target, field, out, depth)
  }
}

function readField(def: FieldDef, field: WireField, out: JsonObject, depth: number): void {
  const node = def.type.kind === "pointer" ? def.type.elem : def.type
  if (node.kind === "list" && !node.named) {
    const list = out[def.name]
    const item = readNode(node.elem, field, depth)
    if (Array.isArray(list)) list.push(item)
    else out[def.name] = [item]
  } else if (node.kind === "map") {
    const map = asObject(out[def.name])
    let key = ""
    let value: Json = readNode(node.elem, { number: 2, value: new Uint8Array() }, depth)
    for (const entry of fields(bytesOf(field))) {
      if (entry.number === 1) key = text(entry)
      if (entry.number === 2) value = readNode(node.elem, entry, depth)
    }
    setKey(map, key, value)
    out[def.name] = map
  } else out[def.name] = readNode(node, field, depth)
}

function readNode(node: TypeNode, field: WireField, depth: number): Json {
  switch (node.kind) {
    case "string":
      return text(field)
    case "bytes":
      return Buffer.from(bytesOf(field)).toString("base64")
    case "bool":
      return field.value !== 0n
    case "int32":
    case "int64":
      return field.value instanceof Uint8Array && field.value.length === 0 ? 0 : integer(field)
    case "float": {
      const raw = bytesOf(field)
      return new DataView(raw.buffer, raw.byteOffset, raw.byteLength).getFloat64(0, true)
    }
    case "pointer":
      return readNode(node.elem, field, depth)
    case "struct": {
      const out: JsonObject = {}
      readInto(node, bytesOf(field), out, depth + 1)
      return out
    }
    case "list":
      // A named list inside a map, such as ExtraValue, is a message with the items in field 1.
      return [...fields(bytesOf(field))].map(item => readNode(node.elem, item, depth + 1))
    case "special":
      return readSpecial(node.special, bytesOf(field), depth)
    default:
      return null
  }
}

function readSpecial(
  special: Extract<TypeNode, { kind: "special" }>["special"],
  bytes: Uint8Array,
  depth: number,
): Json {
  const parts = new Map([...fields(bytes)].map(field => [field.number, field]))
  const number = (n: number): bigint => BigInt((parts.has(n) ? integer(parts.get(n) as WireField) : 0) as number)
  const string = (n: number): string => {
    const field = parts.get(n)
    return field === undefined ? "" : text(field)
  }
  switch (special) {
    case "Time":
    case "MicroTime": {
      if (parts.size === 0) return null
      const micros = number(1) * 1_000_000n + number(2) / 1000n
      return special === "Time" ? printTime({ micros }) : printMicroTime({ micros })
    }
    case "Quantity":
      return string(1) === "" ? "0" : string(1)
    case "IntOrString":
      return number(1) === 0n ? Number(number(2)) : string(3)
    case "Duration":
      return `${Number(number(1)) / 1e9}s`
    case "FieldsV1":
    case "RawExtension":
    case "JSON":
      return string(1) === "" ? null : parseJson(string(1)).value
    case "SchemaOrArray":
    case "SchemaOrBool":
    case "SchemaOrStrings": {
      const schema = parts.get(special === "SchemaOrBool" ? 2 : 1)
      if (schema !== undefined && typeof schema.value !== "bigint") {
        const out: JsonObject = {}
        readInto(schemaPropsType(), schema.value, out, depth + 1)
        return out
      }
      if (special === "SchemaOrBool") return number(1) !== 0n
      return [...fields(bytes)].filter(f => f.number === 2).map(f => text(f))
    }
    default:
      return special satisfies never
  }
}
