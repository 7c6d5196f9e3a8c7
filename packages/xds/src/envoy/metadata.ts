// SPDX-License-Identifier: Apache-2.0
// What standard xDS has no field for, kept where Envoy and gRPC carry it along unread: the mode a MeshService asked for,
// who may answer, and what an endpoint accepts. Our own client follows it.

import { create } from "@bufbuild/protobuf"
import { type Metadata, MetadataSchema } from "../generated/envoy/config/core/v3/base_pb.js"

const KEY = "merlon.mesh.v1"

type Value = string | readonly string[]

/** Undefined values are left out. */
export function encodeMetadata(values: { readonly [name: string]: Value | undefined }): Metadata {
  const fields: { [name: string]: string | string[] } = {}
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) fields[name] = typeof value === "string" ? value : [...value]
  }
  return create(MetadataSchema, { filterMetadata: { [KEY]: fields } })
}

export function decodeMetadata(metadata: Metadata | undefined): { readonly [name: string]: unknown } {
  return metadata?.filterMetadata[KEY] ?? {}
}
