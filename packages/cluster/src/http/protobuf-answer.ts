// SPDX-License-Identifier: Apache-2.0
// Responses in protobuf for clients that accept nothing else: the k8s envelope around a built-in object, encoded by the
// generated field numbers.

import { builtinResources } from "../kinds/resource-table.js"
import { type FieldDef, knownType, type StructNode, type TypeNode, typeNamed, wireFields } from "../kinds/type-table.js"
import { asArray, asObject, asString, isNumber, isObject, type Json, type JsonObject } from "../value.js"
import { parseGoTime } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00])

function varint(value: bigint): Buffer {
  const out: number[] = []
  let rest = BigInt.asUintN(64, value)
  do {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    out.push(rest > 0n ? low | 0x80 : low)
  } while (rest > 0n)
  return Buffer.from(out)
}

const tag = (number: number, wire: number): Buffer => varint(BigInt((number << 3) | wire))
const bytes = (number: number, value: Buffer): Buffer =>
  Buffer.concat([tag(number, 2), varint(BigInt(value.length)), value])
const integer = (number: number, value: bigint): Buffer => Buffer.concat([tag(number, 0), varint(value)])

export function encodeProtobuf(object: JsonObject): Buffer {
  const apiVersion = asString(object.apiVersion)
  const kind = asString(object.kind)
  const single = builtinResources.find(
    info => info.apiVersion === apiVersion && (info.kind === kind || info.listKind === kind),
  )
  const name =
    single === undefined
      ? `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`
      : single.kind === kind
        ? single.type.name
        : `${single.type.name}List`
  const raw = knownType(name) ? encodeStruct(typeNamed(name), object) : Buffer.from(stringify(object))
  const meta = Buffer.concat([bytes(1, Buffer.from(apiVersion)), bytes(2, Buffer.from(kind))])
  return Buffer.concat([MAGIC, bytes(1, meta), bytes(2, raw), bytes(3, Buffer.alloc(0)), bytes(4, Buffer.alloc(0))])
}

function encodeStruct(type: StructNode, value: JsonObject): Buffer {
  const parts: Buffer[] = []
  for (const [number, target] of wireFields(type)) {
    if ("fields" in target) parts.push(bytes(number, encodeStruct(target, value)))
    else {
      const item = value[target.name]
      if (item !== undefined && item !== null) parts.push(...encodeField(target, number, item))
    }
  }
  return Buffer.concat(parts)
}

function encodeField(field: FieldDef, number: number, value: Json): Buffer[] {
  const node = field.type.kind === "pointer" ? field.type.elem : field.type
  if (node.kind === "list" && !node.named) return asArray(value).map(item => encodeNode(node.elem, number, item))
  if (node.kind === "map")
    return Object.entries(asObject(value)).map(([key, item]) =>
      bytes(number, Buffer.concat([bytes(1, Buffer.from(key)), encodeNode(node.elem, 2, item)])),
    )
  return [encodeNode(node, number, value)]
}

function encodeNode(node: TypeNode, number: number, value: Json): Buffer {
  switch (node.kind) {
    case "pointer":
      return encodeNode(node.elem, number, value)
    case "string":
      return bytes(number, Buffer.from(asString(value)))
    case "bytes":
      return bytes(number, Buffer.from(asString(value), "base64"))
    case "bool":
      return integer(number, value === true ? 1n : 0n)
    case "int32":
    case "int64":
      return integer(number, isNumber(value) ? BigInt(value) : 0n)
    case "float": {
      const raw = Buffer.alloc(8)
      raw.writeDoubleLE(Number(value))
      return Buffer.concat([tag(number, 1), raw])
    }
    case "struct":
      return bytes(number, encodeStruct(node, asObject(value)))
    case "list":
      return bytes(number, Buffer.concat(asArray(value).map(item => encodeNode(node.elem, 1, item))))
    case "special":
      return bytes(number, encodeSpecial(node.special, value))
    default:
      return Buffer.alloc(0)
  }
}

function encodeSpecial(special: Extract<TypeNode, { kind: "special" }>["special"], value: Json): Buffer {
  switch (special) {
    case "Time":
    case "MicroTime": {
      const parsed = parseGoTime(asString(value), special === "MicroTime")
      if (typeof parsed === "string") return Buffer.alloc(0)
      return Buffer.concat([integer(1, parsed.micros / 1_000_000n), integer(2, (parsed.micros % 1_000_000n) * 1000n)])
    }
    case "IntOrString":
      return isNumber(value)
        ? Buffer.concat([integer(1, 0n), integer(2, BigInt(value))])
        : Buffer.concat([integer(1, 1n), bytes(3, Buffer.from(asString(value)))])
    case "Quantity":
      return bytes(1, Buffer.from(asString(value)))
    case "FieldsV1":
    case "RawExtension":
    case "JSON":
      return bytes(1, Buffer.from(stringify(value)))
    case "SchemaOrArray":
      return bytes(
        1,
        encodeStruct(
          typeNamed("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"),
          asObject(value),
        ),
      )
    case "SchemaOrBool":
      if (!isObject(value)) return integer(1, value === true ? 1n : 0n)
      return Buffer.concat([
        integer(1, 1n),
        bytes(
          2,
          encodeStruct(typeNamed("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"), value),
        ),
      ])
    default:
      return Buffer.alloc(0)
  }
}
