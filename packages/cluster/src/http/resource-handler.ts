// SPDX-License-Identifier: Apache-2.0
// Routes a resource request to its handler. Built-in and custom resources reject wrong methods and unknown paths with
// different messages, as in Kubernetes, where different servers handle them.

import { answerReview, type ReviewServices } from "../auth/reviews.js"
import { DecodeError, decode } from "../kinds/codec.js"
import type { BuiltinResource } from "../kinds/resource-table.js"
import { badRequest, methodNotAllowed, methodNotSupported, notFound, unknownResource } from "../meta/status.js"
import { groupResource } from "../registry/kind.js"
import type { Registry } from "../registry/registry.js"
import { asObject, asString, dig } from "../value.js"
import { decodeBody, mediaType } from "./body.js"
import type { Exchange } from "./exchange.js"
import { writeOptions } from "./options.js"
import { handleGet, handleList } from "./read-handlers.js"
import type { ResourceRequest } from "./request-info.js"
import { handleSubresource } from "./subresources.js"
import { trackReview } from "./track-review.js"
import { handleWatch } from "./watch-handler.js"
import {
  contextOf,
  handleCreate,
  handleDelete,
  handleDeleteCollection,
  handlePatch,
  handleUpdate,
  type Target,
} from "./write-handlers.js"

export interface ResourceServices {
  readonly registry: Registry
  readonly reviews: ReviewServices
  /** Counts a watch against the caller's limit. Throws when there are too many. */
  admitWatch(exchange: Exchange, close: () => void): void
}

/** Returns false for an unknown path, which gets a plain text response. */
export async function handleResource(
  exchange: Exchange,
  info: ResourceRequest,
  services: ResourceServices,
): Promise<boolean> {
  const { catalog } = services.registry
  const virtual = catalog.virtual(info.group, info.version, info.resource)
  if (virtual !== undefined) {
    await handleVirtual(exchange, virtual, info, services)
    return true
  }
  const kind = catalog.find(info.group, info.version, info.resource)
  if (kind === undefined) {
    if (catalog.isBuiltinGroup(info.group)) throw unknownResource()
    return false
  }
  if (kind.deprecation !== undefined) exchange.warn(kind.deprecation)
  // A Namespace is addressed by its name; all other namespaced objects by the namespace in the path.
  const namespace = info.namespaced ? info.namespace : ""
  const target: Target = { kind, namespace, name: info.name, subresource: info.subresource }
  return kind.builtin ? handleBuiltin(exchange, info, target, services) : handleCustom(exchange, info, target, services)
}

async function read(
  exchange: Exchange,
  info: ResourceRequest,
  target: Target,
  services: ResourceServices,
): Promise<void> {
  const { registry } = services
  if (info.watchPrefix || info.verb === "watch") {
    if (info.name !== "") exchange.query.set("fieldSelector", `metadata.name=${info.name}`)
    await handleWatch(exchange, registry, target.kind, target.namespace, close => services.admitWatch(exchange, close))
  } else if (info.name !== "") await handleGet(exchange, registry, target.kind, target.namespace, info.name)
  else await handleList(exchange, registry, target.kind, target.namespace)
}

async function handleBuiltin(
  exchange: Exchange,
  info: ResourceRequest,
  target: Target,
  services: ResourceServices,
): Promise<boolean> {
  const { kind } = target
  const { registry } = services
  const { method } = exchange
  if (info.rest.length > 0 || (info.namespaced && !kind.info.namespaced)) throw unknownResource()
  if (kind.info.namespaced && !info.namespaced && info.name !== "") throw unknownResource()
  if (info.subresource !== "") {
    const known = kind.info.subresources.find(sub => sub.name === info.subresource)
    if (known === undefined) throw unknownResource()
    if (!known.verbs.includes(info.verb)) throw methodNotAllowed()
    if (await handleSubresource(exchange, registry, services.reviews, target)) return true
    if (
      info.subresource !== "status" &&
      info.subresource !== "resize" &&
      info.subresource !== "approval" &&
      info.subresource !== "ephemeralcontainers"
    )
      throw methodNotAllowed()
  }
  const collection = info.name === ""
  const everywhere = kind.info.namespaced && !info.namespaced
  // The verbs of a subresource were checked above.
  const may = (verb: string): boolean => info.subresource !== "" || kind.info.verbs.includes(verb)
  switch (method) {
    case "GET":
      if (info.watchPrefix || collection || info.verb === "get") await read(exchange, info, target, services)
      return true
    case "POST":
      if (!collection || everywhere || !may("create")) throw methodNotAllowed()
      await handleCreate(exchange, registry, target)
      return true
    case "PUT":
      if (collection || !may("update")) throw methodNotAllowed()
      await handleUpdate(exchange, registry, target)
      return true
    case "PATCH":
      if (collection || !may("patch")) throw methodNotAllowed()
      await handlePatch(exchange, registry, target)
      return true
    case "DELETE":
      if (collection) {
        if (everywhere || !may("deletecollection")) throw methodNotAllowed()
        await handleDeleteCollection(exchange, registry, target)
      } else {
        if (info.subresource !== "" || !may("delete")) throw methodNotAllowed()
        await handleDelete(exchange, registry, target)
      }
      return true
    default:
      throw methodNotAllowed()
  }
}

async function handleCustom(
  exchange: Exchange,
  info: ResourceRequest,
  target: Target,
  services: ResourceServices,
): Promise<boolean> {
  const { kind } = target
  const { registry } = services
  const { method } = exchange
  const gr = groupResource(kind.info)
  if (
    info.namespaced !== kind.info.namespaced &&
    !(kind.info.namespaced && info.name === "" && (method === "GET" || method === "HEAD"))
  )
    return false
  if (info.rest.length > 0) return false
  if (info.subresource !== "") {
    const known = kind.info.subresources.some(sub => sub.name === info.subresource)
    if (!known) throw notFound(gr, info.name)
    if (await handleSubresource(exchange, registry, services.reviews, target)) return true
    if (method === "POST" || method === "DELETE") throw methodNotSupported(gr, info.verb)
  }
  switch (method) {
    case "GET":
    case "HEAD":
      await read(exchange, info, target, services)
      return true
    case "POST":
      await handleCreate(exchange, registry, { ...target, name: "" })
      return true
    case "PUT":
      if (info.name === "") throw badRequest("name must be provided")
      await handleUpdate(exchange, registry, target)
      return true
    case "PATCH":
      if (info.name === "") throw badRequest("name must be provided")
      await handlePatch(exchange, registry, target)
      return true
    case "DELETE":
      if (info.name === "") await handleDeleteCollection(exchange, registry, target)
      else await handleDelete(exchange, registry, target)
      return true
    default:
      throw methodNotSupported(gr, "")
  }
}

/** These responses are built anew and contain none of the request's metadata. */
const UNTRACKED = new Set(["SelfSubjectReview", "SelfSubjectRulesReview"])

async function handleVirtual(
  exchange: Exchange,
  resource: BuiltinResource,
  info: ResourceRequest,
  services: ResourceServices,
): Promise<void> {
  if (info.name !== "" || info.namespaced !== resource.namespaced) throw unknownResource()
  if (exchange.method !== "POST") throw methodNotAllowed()
  const body = exchange.body
  const parsed = decodeBody(body, mediaType(exchange.request), {
    kind: resource.kind,
    apiVersion: resource.apiVersion,
    builtin: true,
    type: resource.type,
  })
  let review = {}
  try {
    review = decode(resource.type, parsed.value)
  } catch (error) {
    if (error instanceof DecodeError)
      throw badRequest(
        `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: ${error.message}`,
      )
    throw error
  }
  const target = { namespace: info.namespace, name: "", subresource: "" }
  const context = contextOf(exchange, target, writeOptions("CreateOptions", exchange.query, exchange.request, false))
  const sent = asString(dig(review, "metadata", "namespace"))
  if (resource.namespaced && sent !== "" && sent !== info.namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
  const tracked = UNTRACKED.has(resource.kind) ? review : trackReview(resource, review, context)
  const answer = await answerReview(services.reviews, resource.kind, tracked, context)
  const { kind: _k, apiVersion: _a, ...rest } = answer
  exchange.send(201, {
    kind: resource.kind,
    apiVersion: resource.apiVersion,
    ...rest,
    metadata: asObject(rest.metadata),
  })
}
