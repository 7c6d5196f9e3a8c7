// SPDX-License-Identifier: Apache-2.0
// Responses as bytes. A resource goes to thousands of streams as it is, so its part of a response is written once and kept
// for as long as the resource is; what differs from stream to stream is a few words around it.

import { create, toBinary } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { ResourceSchema } from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import type { DeltaResponse } from "./delta-type.js"
import type { SotwResponse } from "./sotw-session.js"
import type { VersionedResource } from "./source.js"

/** Numbers of the fields of DeltaDiscoveryResponse and DiscoveryResponse. */
const DELTA = { systemVersionInfo: 1, resources: 2, typeUrl: 4, nonce: 5, removedResources: 6 } as const
const SOTW = { versionInfo: 1, resources: 2, typeUrl: 4, nonce: 5 } as const

interface Encoded {
  readonly typeUrl: string
  readonly bytes: Uint8Array
}

const named = new WeakMap<VersionedResource, Encoded>()
const bare = new WeakMap<VersionedResource, Encoded>()

export function encodeDelta({ typeUrl, nonce, revision, resources, removed }: DeltaResponse): Buffer {
  const writer = new BinaryWriter()
  text(writer, DELTA.systemVersionInfo, String(revision))
  for (const resource of resources) {
    part(writer, DELTA.resources, once(named, resource, typeUrl, encodeNamed))
  }
  text(writer, DELTA.typeUrl, typeUrl)
  text(writer, DELTA.nonce, nonce)
  for (const name of removed) text(writer, DELTA.removedResources, name, true)
  return bufferOf(writer)
}

export function encodeSotw({ typeUrl, nonce, revision, resources }: SotwResponse): Buffer {
  const writer = new BinaryWriter()
  text(writer, SOTW.versionInfo, String(revision))
  for (const resource of resources) part(writer, SOTW.resources, once(bare, resource, typeUrl, encodeBare))
  text(writer, SOTW.typeUrl, typeUrl)
  text(writer, SOTW.nonce, nonce)
  return bufferOf(writer)
}

function encodeNamed({ name, version, value }: VersionedResource, typeUrl: string): Uint8Array {
  return toBinary(
    ResourceSchema,
    create(ResourceSchema, { name, version, resource: create(AnySchema, { typeUrl, value }) }),
  )
}

function encodeBare({ value }: VersionedResource, typeUrl: string): Uint8Array {
  return toBinary(AnySchema, create(AnySchema, { typeUrl, value }))
}

function once(
  known: WeakMap<VersionedResource, Encoded>,
  resource: VersionedResource,
  typeUrl: string,
  encode: (resource: VersionedResource, typeUrl: string) => Uint8Array,
): Uint8Array {
  const kept = known.get(resource)
  if (kept?.typeUrl === typeUrl) return kept.bytes
  const bytes = encode(resource, typeUrl)
  known.set(resource, { typeUrl, bytes })
  return bytes
}

function part(writer: BinaryWriter, field: number, bytes: Uint8Array): void {
  writer.tag(field, WireType.LengthDelimited).bytes(bytes)
}

/** What is empty is not written, but for one of several. */
function text(writer: BinaryWriter, field: number, value: string, several = false): void {
  if (value !== "" || several) writer.tag(field, WireType.LengthDelimited).string(value)
}

function bufferOf(writer: BinaryWriter): Buffer {
  const bytes = writer.finish()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
