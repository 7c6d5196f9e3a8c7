// SPDX-License-Identifier: Apache-2.0
//
// OpenAPI v2 in gnostic's protobuf encoding, the only one that client-go's OpenAPISchema() accepts. Without it, kubectl
// 1.28 cannot create or apply anything (ADR 008). Field numbers are those of OpenAPIv2.proto.

import { asArray, asObject, asString, asStrings, isNumber, isObject, type Json, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"

function varint(value: number): Buffer {
  const out: number[] = []
  let rest = value
  do {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    out.push(rest > 0 ? low | 0x80 : low)
  } while (rest > 0)
  return Buffer.from(out)
}

const message = (number: number, body: Buffer): Buffer =>
  Buffer.concat([varint(number * 8 + 2), varint(body.length), body])
const text = (number: number, value: string): Buffer =>
  value === "" ? Buffer.alloc(0) : message(number, Buffer.from(value))
const integer = (number: number, value: Json | undefined): Buffer =>
  isNumber(value) && value > 0 ? Buffer.concat([varint(number * 8), varint(Number(value))]) : Buffer.alloc(0)
const flag = (number: number, value: Json | undefined): Buffer =>
  value === true ? Buffer.concat([varint(number * 8), varint(1)]) : Buffer.alloc(0)

function double(number: number, value: Json | undefined): Buffer {
  if (!isNumber(value)) return Buffer.alloc(0)
  const raw = Buffer.alloc(8)
  raw.writeDoubleLE(Number(value))
  return Buffer.concat([varint(number * 8 + 1), raw])
}

/** An `Any` message with the field `yaml` (2), which may contain JSON. */
const any = (value: Json): Buffer => text(2, stringify(value))
const namedAny = (number: number, name: string, value: Json): Buffer =>
  message(number, Buffer.concat([text(1, name), message(2, any(value))]))

function vendorExtensions(number: number, object: JsonObject): Buffer[] {
  return Object.entries(object)
    .filter(([key]) => key.startsWith("x-"))
    .map(([key, value]) => namedAny(number, key, value))
}

function schema(value: JsonObject): Buffer {
  const additional = value.additionalProperties
  return Buffer.concat([
    text(1, asString(value.$ref)),
    text(2, asString(value.format)),
    text(3, asString(value.title)),
    text(4, asString(value.description)),
    ...(value.default === undefined ? [] : [message(5, any(value.default))]),
    double(6, value.multipleOf),
    double(7, value.maximum),
    flag(8, value.exclusiveMaximum),
    double(9, value.minimum),
    flag(10, value.exclusiveMinimum),
    integer(11, value.maxLength),
    integer(12, value.minLength),
    text(13, asString(value.pattern)),
    integer(14, value.maxItems),
    integer(15, value.minItems),
    flag(16, value.uniqueItems),
    integer(17, value.maxProperties),
    integer(18, value.minProperties),
    ...asStrings(value.required).map(name => text(19, name)),
    ...asArray(value.enum).map(item => message(20, any(item))),
    ...(isObject(additional)
      ? [message(21, message(1, schema(additional)))]
      : additional === true
        ? [message(21, flag(2, true))]
        : []),
    ...(typeof value.type === "string" ? [message(22, text(1, value.type))] : []),
    ...(isObject(value.items) ? [message(23, message(1, schema(value.items)))] : []),
    ...(isObject(value.properties) ? [message(25, namedSchemas(value.properties))] : []),
    ...vendorExtensions(31, value),
  ])
}

function namedSchemas(schemas: JsonObject): Buffer {
  return Buffer.concat(
    Object.entries(schemas).map(([name, value]) =>
      message(1, Buffer.concat([text(1, name), message(2, schema(asObject(value)))])),
    ),
  )
}

/** Only query parameters, because clients do not read other parameters in this encoding. */
function parameter(value: JsonObject): Buffer {
  const query = Buffer.concat([
    text(2, "query"),
    text(3, asString(value.description)),
    text(4, asString(value.name)),
    text(6, asString(value.type)),
  ])
  return message(8, message(1, message(2, message(3, query))))
}

function operation(number: number, value: Json | undefined): Buffer {
  if (!isObject(value)) return Buffer.alloc(0)
  const body = Buffer.concat([
    ...asStrings(value.tags).map(tag => text(1, tag)),
    text(3, asString(value.description)),
    text(5, asString(value.operationId)),
    ...asArray(value.parameters)
      .map(asObject)
      .filter(item => item.in === "query")
      .map(parameter),
    ...vendorExtensions(13, value),
  ])
  return message(number, body)
}

function pathItem(value: JsonObject): Buffer {
  return Buffer.concat([
    operation(2, value.get),
    operation(3, value.put),
    operation(4, value.post),
    operation(5, value.delete),
    operation(8, value.patch),
  ])
}

export function encodeSwagger(document: JsonObject): Buffer {
  const info = asObject(document.info)
  const paths = Object.entries(asObject(document.paths)).map(([path, value]) =>
    message(2, Buffer.concat([text(1, path), message(2, pathItem(asObject(value)))])),
  )
  return Buffer.concat([
    text(1, "2.0"),
    message(2, Buffer.concat([text(1, asString(info.title)), text(2, asString(info.version))])),
    message(8, Buffer.concat(paths)),
    message(9, namedSchemas(asObject(document.definitions))),
  ])
}
