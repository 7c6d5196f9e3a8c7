// SPDX-License-Identifier: Apache-2.0
// A policy as the history keeps it: what it means and nothing else, in one spelling, so that equal policies have equal
// digests. Policies hold no secrets: a `jwks` in them is a set of public keys.

import { gunzipSync, gzipSync } from "node:zlib"
import type { MeshNames } from "@merlon/policy/mesh"
import { apiVersionOf, KINDS, type PolicyDocument, validate } from "@merlon/policy/resources"
import { canonicalJson } from "@merlon/xds/runtime"
import { objectOf, textOf } from "../registry/foreign.js"
import { sha256 } from "./chain.js"

/** A policy is at most 3 MB; whatever inflates to more was not packed here. */
const MAX_BODY = 4 << 20

/** Of a stored object. */
export function bodyOf(object: unknown, names: MeshNames): string {
  const { kind, metadata, spec } = objectOf(object)
  const definition = KINDS.find(one => one.kind === kind)
  const { name, namespace, creationTimestamp, annotations } = objectOf(metadata)
  const dryRun = textOf(objectOf(annotations)[names.dryRunAnnotation])
  return canonicalJson({
    // The version that it was written in means nothing.
    ...(definition === undefined ? {} : { apiVersion: apiVersionOf(definition, names) }),
    kind,
    metadata: {
      name,
      namespace,
      // Decides between PeerAuthentications. Not there yet where an object is reviewed before it is created.
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(dryRun === undefined ? {} : { annotations: { [names.dryRunAnnotation]: dryRun } }),
    },
    ...(spec === undefined ? {} : { spec }),
  })
}

export function bodyDigest(body: string): string {
  return sha256(body)
}

/** What a policy says, whenever it was created: by this an object under review is known again once it is stored. */
export function contentDigest(object: unknown, names: MeshNames): string {
  const { metadata, ...rest } = objectOf(object)
  const { creationTimestamp: _, ...other } = objectOf(metadata)
  return sha256(bodyOf({ ...rest, metadata: other }, names))
}

export function packed(body: string): string {
  return gzipSync(body, { level: 9 }).toString("base64")
}

/** Undefined where it is not what the digest says. */
export function unpacked(text: string, digest: string): string | undefined {
  try {
    const body = gunzipSync(Buffer.from(text, "base64"), { maxOutputLength: MAX_BODY }).toString("utf8")
    return sha256(body) === digest ? body : undefined
  } catch {
    return undefined
  }
}

/** Undefined where it cannot be read as a policy. */
export function documentOf(body: string, names: MeshNames): PolicyDocument | undefined {
  try {
    return validate(JSON.parse(body), names).document
  } catch {
    return undefined
  }
}
