// SPDX-License-Identifier: Apache-2.0
// Builds the `request` of an AdmissionReview for webhooks and policies.

import { randomUUID } from "node:crypto"
import { userInfo } from "../registry/context.js"
import { isNamespace } from "../registry/kind.js"
import { asString, dig, type JsonObject } from "../value.js"
import type { AdmissionCall } from "./match.js"

export function reviewRequest({ kind, request, context }: AdmissionCall): JsonObject {
  const { group, version, plural } = kind.info
  const gvk = { group, version, kind: kind.info.kind }
  const gvr = { group, version, resource: plural }
  const name = asString(dig(request.object ?? request.oldObject ?? {}, "metadata", "name")) || context.name
  const out: JsonObject = { uid: randomUUID(), kind: gvk, resource: gvr }
  if (context.subresource !== "") out.subResource = context.subresource
  out.requestKind = gvk
  out.requestResource = gvr
  if (context.subresource !== "") out.requestSubResource = context.subresource
  if (name !== "") out.name = name
  if (context.namespace !== "" && kind.info.namespaced) out.namespace = context.namespace
  else if (isNamespace(kind)) out.namespace = name
  return {
    ...out,
    operation: request.operation,
    userInfo: userInfo(context.user),
    object: request.object,
    oldObject: request.oldObject,
    dryRun: context.dryRun,
    options: request.options,
  }
}
