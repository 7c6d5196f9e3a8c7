// SPDX-License-Identifier: Apache-2.0
//
// GET on objects and collections: one object, a list or a watch, each as itself, as a Table or as metadata only.

import { metaOf } from "../meta/object-meta.js"
import { badRequest, internal, notAcceptable, resourceVersionTooLarge } from "../meta/status.js"
import type { Kind } from "../registry/kind.js"
import { parseListOptions } from "../registry/list-options.js"
import { type Listed, list, parseRevision } from "../registry/reading.js"
import type { Registry } from "../registry/registry.js"
import { type IncludeObject, partialMetadata, renderTable } from "../table/render.js"
import { asString, type JsonObject } from "../value.js"
import type { Exchange } from "./exchange.js"
import { type Accepted, ALL_MEDIA, objectForms } from "./negotiate.js"
import { encodeProtobuf } from "./protobuf-answer.js"

const CUSTOM_MEDIA = ["application/json", "application/yaml"] as const

export function acceptObject(exchange: Exchange, kind: Kind): Accepted {
  return exchange.accept(objectForms, kind.builtin ? ALL_MEDIA : CUSTOM_MEDIA, kind.builtin)
}

export function includeObject(exchange: Exchange): IncludeObject {
  const value = exchange.query.get("includeObject") ?? ""
  if (value === "" || value === "Metadata") return "Metadata"
  if (value === "None" || value === "Object") return value
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  )
}

/** Sends one object in the form that the client requested. */
export function sendObject(exchange: Exchange, kind: Kind, object: JsonObject, accepted: Accepted, status = 200): void {
  const as = accepted.as
  const isStatus = object.kind === "Status" && object.apiVersion === "v1"
  if (as === undefined || isStatus) {
    if (accepted.media === "application/vnd.kubernetes.protobuf") {
      exchange.sendText(status, encodeProtobuf(object), accepted.media)
      return
    }
    exchange.send(status, object, accepted)
    return
  }
  switch (as.kind) {
    case "Table":
      exchange.send(
        status,
        renderTable(kind, {
          objects: [object],
          metadata: { resourceVersion: asString(metaOf(object).resourceVersion) },
          includeObject: includeObject(exchange),
          withColumns: true,
          version: as.version,
          isList: false,
          now: exchange.now(),
        }),
        accepted,
      )
      return
    case "PartialObjectMetadata":
      exchange.send(status, partialMetadata(object, as.version), accepted)
      return
    default:
      throw internal("content is not a list")
  }
}

export async function handleGet(
  exchange: Exchange,
  registry: Registry,
  kind: Kind,
  namespace: string,
  name: string,
): Promise<void> {
  const accepted = acceptObject(exchange, kind)
  const requested = parseRevision(exchange.query.get("resourceVersion") ?? "")
  if (typeof requested === "string") throw internal(requested)
  if (!(await registry.store.reached(requested)))
    throw resourceVersionTooLarge(`${requested}`, registry.store.revision())
  sendObject(exchange, kind, await registry.get(kind, namespace, name), accepted)
}

function listDocument(kind: Kind, listed: Listed): JsonObject {
  const metadata: JsonObject = { resourceVersion: `${listed.revision}` }
  if (listed.continue !== "" || !kind.builtin) metadata.continue = listed.continue
  if (listed.remaining !== undefined) metadata.remainingItemCount = listed.remaining
  const items = kind.builtin
    ? listed.objects.map(object => {
        const { kind: _k, apiVersion: _a, ...rest } = object
        return rest
      })
    : listed.objects
  return { kind: kind.info.listKind, apiVersion: kind.info.apiVersion, metadata, items }
}

export async function handleList(exchange: Exchange, registry: Registry, kind: Kind, namespace: string): Promise<void> {
  const accepted = acceptObject(exchange, kind)
  const options = parseListOptions(exchange.query, kind)
  sendList(exchange, kind, await list(registry, kind, namespace, options), accepted)
}

export function sendList(exchange: Exchange, kind: Kind, listed: Listed, accepted: Accepted): void {
  const as = accepted.as
  if (as === undefined) {
    const document = listDocument(kind, listed)
    if (accepted.media === "application/vnd.kubernetes.protobuf")
      exchange.sendText(200, encodeProtobuf(document), accepted.media)
    else exchange.send(200, document, accepted)
    return
  }
  const metadata: JsonObject = { resourceVersion: `${listed.revision}` }
  if (listed.continue !== "") metadata.continue = listed.continue
  if (listed.remaining !== undefined) metadata.remainingItemCount = listed.remaining
  switch (as.kind) {
    case "Table":
      exchange.send(
        200,
        renderTable(kind, {
          objects: listed.objects,
          metadata,
          includeObject: includeObject(exchange),
          withColumns: true,
          version: as.version,
          isList: true,
          now: exchange.now(),
        }),
        accepted,
      )
      return
    case "PartialObjectMetadataList":
      exchange.send(
        200,
        {
          kind: "PartialObjectMetadataList",
          apiVersion: `meta.k8s.io/${as.version}`,
          metadata,
          items: listed.objects.map(object => partialMetadata(object, as.version)),
        },
        accepted,
      )
      return
    default:
      throw notAcceptable(
        `you requested PartialObjectMetadata, but the requested object is a list (${kind.builtin ? `*${kind.info.group === "" ? "core" : kind.info.group}.${kind.info.listKind}` : "*unstructured.UnstructuredList"})`,
      )
  }
}
