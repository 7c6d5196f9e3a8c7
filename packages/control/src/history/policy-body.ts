// SPDX-License-Identifier: Apache-2.0
// A policy as the history stores it: only what affects its meaning, in canonical form, so that equal policies have
// equal digests. Policies contain no secrets: a `jwks` in them is a set of public keys.

import { gunzipSync, gzipSync } from "node:zlib"
import type { MeshNames } from "@merlon/policy/mesh"
import { apiVersionOf, KINDS, type PolicyDocument, validate } from "@merlon/policy/resources"
import { canonicalJson } from "@merlon/xds/runtime"
import { objectOf, textOf } from "../registry/foreign.js"
import { sha256 } from "./chain.js"

/** A policy is at most 3 MB, so a larger document was not written by us. */
const MAX_BODY = 4 << 20

/** The body of a stored object. */
export function bodyOf(object: unknown, names: MeshNames): string {
  const { kind, metadata, spec } = objectOf(object)
  const definition = KINDS.find(one => one.kind === kind)
  const { name, namespace, creationTimestamp, annotations } = objectOf(metadata)
  const dryRun = textOf(objectOf(annotations)[names.dryRunAnnotation])
  return canonicalJson({
    // The API version in which it was written has no meaning.
    ...(definition === undefined ? {} : { apiVersion: apiVersionOf(definition, names) }),
    kind,
    metadata: {
      name,
      namespace,
      // Orders PeerAuthentications that conflict. Absent in the review before the object is created.
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(dryRun === undefined ? {} : { annotations: { [names.dryRunAnnotation]: dryRun } }),
    },
    ...(spec === undefined ? {} : { spec }),
  })
}

export function bodyDigest(body: string): string {
  return sha256(body)
}

/** Digest of the contents without the creation time: identifies an object under review once it is stored. */
export function contentDigest(object: unknown, names: MeshNames): string {
  const { metadata, ...rest } = objectOf(object)
  const { creationTimestamp: _, ...other } = objectOf(metadata)
  return sha256(bodyOf({ ...rest, metadata: other }, names))
}

export function packed(body: string): string {
  return gzipSync(body, { level: 9 }).toString("base64")
}

/** Undefined if the text does not match the digest. */
export function unpacked(text: string, digest: string): string | undefined {
  try {
    const body = gunzipSync(Buffer.from(text, "base64"), { maxOutputLength: MAX_BODY }).toString("utf8")
    return sha256(body) === digest ? body : undefined
  } catch {
    return undefined
  }
}

/** Undefined if it cannot be read as a policy. */
export function documentOf(body: string, names: MeshNames): PolicyDocument | undefined {
  try {
    return validate(JSON.parse(body), names).document
  } catch {
    return undefined
  }
}
