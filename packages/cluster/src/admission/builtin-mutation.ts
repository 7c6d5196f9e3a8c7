// SPDX-License-Identifier: Apache-2.0
// What the server's own admission adds to new objects before any webhook is called.

import type { AdmissionRequest, RequestContext } from "../registry/context.js"
import type { Kind } from "../registry/kind.js"
import { clone, type JsonObject } from "../value.js"

export function builtinMutation(kind: Kind, request: AdmissionRequest, context: RequestContext): JsonObject {
  const object = request.object ?? {}
  if (request.operation !== "CREATE" || context.subresource !== "") return object
  return kind.behaviour.admit?.(clone(object), context.user) ?? object
}
