// SPDX-License-Identifier: Apache-2.0
// Encodes responses. A resource may be sent to thousands of streams unchanged, so its encoding is cached once a second
// stream needs it. Most resources are for one stream only, and caching those would double their memory. Streams that
// are woken together usually get the same response with a different nonce.

import { create, toBinary } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { ResourceSchema } from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import type { DeltaResponse } from "./delta-type.js"
import type { SotwResponse } from "./sotw-session.js"
import type { VersionedResource } from "./source.js"

/** Field numbers of DeltaDiscoveryResponse and DiscoveryResponse. */
const DELTA = { systemVersionInfo: 1, resources: 2, typeUrl: 4, nonce: 5, removedResources: 6 } as const
const SOTW = { versionInfo: 1, resources: 2, typeUrl: 4, nonce: 5 } as const

interface Encoded {
  readonly typeUrl: string
  readonly bytes: Uint8Array
}

/** Maps to undefined for a resource that was written only once. */
type Known = WeakMap<VersionedResource, Encoded | undefined>

const named: Known = new WeakMap()
const bare: Known = new WeakMap()

/** The contents of a response, except its nonce. */
interface Content {
  readonly typeUrl: string
  readonly revision: number
  readonly resources: readonly VersionedResource[]
  readonly removed: readonly string[]
}

/** The encoded parts before and after the nonce. */
interface Frame {
  readonly of: Content
  readonly head: Buffer
  readonly tail: Buffer
}

const NOTHING_REMOVED: readonly string[] = []
const NOTHING = Buffer.alloc(0)
let lastDelta: Frame | undefined
let lastSotw: Frame | undefined

/** Returns consecutive parts of the message. */
export function encodeDelta(response: DeltaResponse): readonly Buffer[] {
  lastDelta = isSame(lastDelta, response) ? lastDelta : deltaFrame(response)
  return [lastDelta.head, textField(DELTA.nonce, response.nonce), lastDelta.tail]
}

/** Returns consecutive parts of the message. */
export function encodeSotw({ typeUrl, nonce, revision, resources }: SotwResponse): readonly Buffer[] {
  const content = { typeUrl, revision, resources, removed: NOTHING_REMOVED }
  lastSotw = isSame(lastSotw, content) ? lastSotw : sotwFrame(content)
  return [lastSotw.head, textField(SOTW.nonce, nonce)]
}

function deltaFrame({ typeUrl, revision, resources, removed }: Content): Frame {
  const writer = new BinaryWriter()
  text(writer, DELTA.systemVersionInfo, String(revision))
  for (const resource of resources) {
    part(writer, DELTA.resources, kept(named, resource, typeUrl, encodeNamed))
  }
  text(writer, DELTA.typeUrl, typeUrl)
  const head = bufferOf(writer)
  for (const name of removed) text(writer, DELTA.removedResources, name, true)
  return { of: { typeUrl, revision, resources, removed }, head, tail: bufferOf(writer) }
}

function sotwFrame(content: Content): Frame {
  const { typeUrl, revision, resources } = content
  const writer = new BinaryWriter()
  text(writer, SOTW.versionInfo, String(revision))
  for (const resource of resources) part(writer, SOTW.resources, kept(bare, resource, typeUrl, encodeBare))
  text(writer, SOTW.typeUrl, typeUrl)
  return { of: content, head: bufferOf(writer), tail: NOTHING }
}

function isSame(frame: Frame | undefined, { typeUrl, revision, resources, removed }: Content): frame is Frame {
  return (
    frame !== undefined &&
    frame.of.revision === revision &&
    frame.of.typeUrl === typeUrl &&
    isSameList(frame.of.resources, resources) &&
    isSameList(frame.of.removed, removed)
  )
}

/** Equal resources are the same object. */
function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index])
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

function kept(
  known: Known,
  resource: VersionedResource,
  typeUrl: string,
  encode: (resource: VersionedResource, typeUrl: string) => Uint8Array,
): Uint8Array {
  const before = known.get(resource)
  if (before?.typeUrl === typeUrl) return before.bytes
  const bytes = encode(resource, typeUrl)
  known.set(resource, known.has(resource) ? { typeUrl, bytes } : undefined)
  return bytes
}

function part(writer: BinaryWriter, field: number, bytes: Uint8Array): void {
  writer.tag(field, WireType.LengthDelimited).bytes(bytes)
}

/** Empty values are omitted, except for elements of a repeated field. */
function text(writer: BinaryWriter, field: number, value: string, several = false): void {
  if (value !== "" || several) writer.tag(field, WireType.LengthDelimited).string(value)
}

/** A complete text field. A length and a tag of one byte each are the same in UTF-8. */
function textField(field: number, value: string): Buffer {
  const length = Buffer.byteLength(value)
  if (length === 0) return NOTHING
  if (length < 0x80) return Buffer.from(String.fromCharCode((field << 3) | WireType.LengthDelimited, length) + value)
  const writer = new BinaryWriter()
  text(writer, field, value)
  return bufferOf(writer)
}

function bufferOf(writer: BinaryWriter): Buffer {
  const bytes = writer.finish()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
