// SPDX-License-Identifier: Apache-2.0
//
// Builds admission requests for tests.

import type { Operation, RequestContext } from "../../registry/context.js"
import { catalog } from "../../testing/stored.js"
import type { JsonObject } from "../../value.js"
import type { AdmissionCall } from "../match.js"

export interface Asked {
  readonly plural?: string
  readonly group?: string
  readonly operation?: Operation
  readonly subresource?: string
  readonly object?: JsonObject | null
  readonly old?: JsonObject | null
  readonly namespaceLabels?: JsonObject
  readonly warn?: (text: string) => void
}

export function call(asked: Asked = {}): AdmissionCall {
  const { plural = "pods", group = "", operation = "CREATE", subresource = "", namespaceLabels = {} } = asked
  const context: RequestContext = {
    ...{ user: { name: "u", uid: "", groups: [], extra: {} }, namespace: "shop", name: "x", subresource },
    ...{
      dryRun: false,
      fieldManager: "",
      fieldValidation: "Ignore",
      warn: asked.warn ?? (() => undefined),
      now: Date.now,
    },
    signal: undefined,
  }
  const request = { operation, object: asked.object ?? null, oldObject: asked.old ?? null, options: {} }
  return { kind: catalog.builtin(group, "v1", plural), request, context, namespaceLabels }
}
