// SPDX-License-Identifier: Apache-2.0
// managedFields of documents that are returned but never stored, such as access reviews and token requests.

import { decode } from "../kinds/codec.js"
import type { StructNode } from "../kinds/type-table.js"
import { applyTypeOf } from "../patch/apply/apply-type.js"
import { trackUpdate } from "../patch/apply/field-manager.js"
import type { RequestContext } from "../registry/context.js"
import type { JsonObject } from "../value.js"
import { now } from "../wire/go-time.js"

export function trackReview(
  resource: { apiVersion: string; type: StructNode },
  review: JsonObject,
  context: RequestContext,
): JsonObject {
  return trackUpdate(undefined, review, {
    type: applyTypeOf(resource.type),
    empty: decode(resource.type, {}),
    owner: {
      manager: context.fieldManager,
      operation: "Update",
      apiVersion: resource.apiVersion,
      subresource: context.subresource,
    },
    now: now(context.now),
    allowed: set => set,
  })
}
