// SPDX-License-Identifier: Apache-2.0
// Compares the meaning of two versions of a stored document: only the fields compared here matter. Most changes affect
// a status, a label or managed fields and need no further work.

import { isDeepStrictEqual } from "node:util"
import type { MeshNames } from "@merlon/policy/mesh"
import { objectOf } from "../registry/foreign.js"

export function meansTheSame(a: unknown, b: unknown, names: MeshNames): boolean {
  return isDeepStrictEqual(meaningOf(a, names), meaningOf(b, names))
}

function meaningOf(object: unknown, { dryRunAnnotation }: MeshNames): readonly unknown[] {
  // Unknown fields make a document unreadable, so they affect its meaning too.
  const { metadata, status: _, ...rest } = objectOf(object)
  const { uid, generation, creationTimestamp, annotations } = objectOf(metadata)
  return [uid, generation, creationTimestamp, objectOf(annotations)[dryRunAnnotation], rest]
}
