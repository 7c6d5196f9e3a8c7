// SPDX-License-Identifier: Apache-2.0
//
// POST, PUT, PATCH and DELETE on objects and collections: from the body to the registry and back to the response.

import { builtinResources } from "../kinds/resource-table.js"
import { type StructNode, typeNamed } from "../kinds/type-table.js"
import { metaOf } from "../meta/object-meta.js"
import { ApiError, badRequest, unsupportedMediaType } from "../meta/status.js"
import { applyConfiguration } from "../patch/apply/field-manager.js"
import type { RequestContext } from "../registry/context.js"
import { deleteObject } from "../registry/deletion.js"
import type { Kind } from "../registry/kind.js"
import { parseListOptions } from "../registry/list-options.js"
import { list } from "../registry/reading.js"
import type { Registry } from "../registry/registry.js"
import { asString, isObject, type JsonObject } from "../value.js"
import { JsonSyntaxError } from "../wire/json.js"
import { YamlSyntaxError } from "../wire/yaml.js"
import { complain, decodeBody, mediaType, parseBody, typedBody } from "./body.js"
import type { Exchange } from "./exchange.js"
import { deleteOptions, type WriteOptions, writeOptions } from "./options.js"
import { applyPatch, type Patch, parsePatch, patchTypes } from "./patch-body.js"
import { acceptObject, sendList, sendObject } from "./read-handlers.js"

export interface Target {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

export function contextOf(
  exchange: Exchange,
  target: Pick<Target, "namespace" | "name" | "subresource">,
  options: Pick<WriteOptions, "dryRun" | "fieldManager" | "fieldValidation">,
): RequestContext {
  return {
    user: exchange.user,
    namespace: target.namespace,
    name: target.name,
    subresource: target.subresource,
    dryRun: options.dryRun,
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    warn: text => exchange.warn(text),
    now: exchange.now,
    signal: undefined,
    inTurn: step => exchange.inTurn(step),
  }
}

function typeOf(kind: Kind): StructNode | undefined {
  return kind.builtin
    ? builtinResources.find(info => info.apiVersion === kind.info.apiVersion && info.plural === kind.info.plural)?.type
    : undefined
}

function expectedOf(kind: Kind): { kind: string; apiVersion: string; builtin: boolean; type: StructNode | undefined } {
  return { kind: kind.info.kind, apiVersion: kind.info.apiVersion, builtin: kind.builtin, type: typeOf(kind) }
}

/** The object's name, and its namespace unless omitted, must be those of the path. */
function checkPlace(object: JsonObject, target: Target): void {
  const meta = metaOf(object)
  const namespace = asString(meta.namespace)
  const expected = target.kind.info.namespaced ? target.namespace : ""
  // The namespace of a cluster-scoped object is ignored.
  if (expected === "") delete meta.namespace
  else if (namespace !== "" && namespace !== expected)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
  const name = asString(meta.name)
  if (target.name !== "" && name === "")
    throw badRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`)
  if (target.name !== "" && name !== target.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`)
  if (expected !== "") meta.namespace = expected
  object.metadata = meta
}

async function decodedObject(exchange: Exchange, kind: Kind, context: RequestContext): Promise<JsonObject> {
  const body = exchange.body
  const parsed = await exchange.inTurn(() => decodeBody(body, mediaType(exchange.request), expectedOf(kind)))
  return exchange.inTurn(() => typedBody(kind, parsed, context))
}

export async function handleCreate(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const accepted = acceptObject(exchange, target.kind)
  const options = writeOptions("CreateOptions", exchange.query, exchange.request, false)
  const context = contextOf(exchange, target, options)
  const object = await decodedObject(exchange, target.kind, context)
  checkPlace(object, { ...target, name: "" })
  sendObject(
    exchange,
    target.kind,
    await registry.create(target.kind, object, context, options.document),
    accepted,
    201,
  )
}

export async function handleUpdate(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const accepted = acceptObject(exchange, target.kind)
  const options = writeOptions("UpdateOptions", exchange.query, exchange.request, false)
  const context = contextOf(exchange, target, options)
  const object = await decodedObject(exchange, target.kind, context)
  checkPlace(object, target)
  const version = asString(metaOf(object).resourceVersion)
  const written = await registry.update({
    kind: target.kind,
    context,
    transform: () => object,
    options: options.document,
    create: target.subresource === "" && target.kind.info.traits.createOnUpdate ? "allowed" : "never",
    tracked: false,
    exact: version !== "" || asString(metaOf(object).uid) !== "",
  })
  sendObject(exchange, target.kind, written.object, accepted, written.created ? 201 : 200)
}

export async function handlePatch(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const { kind } = target
  const media = mediaType(exchange.request)
  const type = Object.hasOwn(patchTypes, media) ? patchTypes[media] : undefined
  if (type === undefined || (type === "strategic" && !kind.builtin)) {
    if (kind.builtin) throw new ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
  }
  const accepted = acceptObject(exchange, kind)
  const options = writeOptions("PatchOptions", exchange.query, exchange.request, type === "apply")
  const context = contextOf(exchange, target, options)
  const body = exchange.body
  if (type === "apply") {
    const config = await exchange.inTurn(() => applyBody(body, context))
    const written = await registry.update({
      kind,
      context,
      transform: current => applied(registry, target, current, config, options, context),
      options: asUpdate(options.document),
      create: target.subresource === "" ? "allowed" : "never",
      tracked: true,
      exact: false,
    })
    sendObject(exchange, kind, written.object, accepted, written.created ? 201 : 200)
    return
  }
  const own = typeOf(kind)
  let patch: Patch | undefined
  const written = await registry.update({
    kind,
    context,
    transform: current => {
      // Parsed only here, because a patch of a missing object is not parsed.
      patch ??= parsePatch(type, body, context.fieldValidation)
      const object = applyPatch(kind, own, current ?? {}, patch, context)
      checkPlace(object, target)
      return object
    },
    options: asUpdate(options.document),
    create: "never",
    tracked: false,
    exact: false,
  })
  sendObject(exchange, kind, written.object, accepted)
}

/** Admission treats a patch as an update. */
function asUpdate(options: JsonObject): JsonObject {
  const { force: _, ...rest } = options
  return { ...rest, kind: "UpdateOptions" }
}

function applyBody(body: Buffer, context: RequestContext): JsonObject {
  let parsed: ReturnType<typeof parseBody>
  try {
    parsed = parseBody(body, "application/yaml")
  } catch (error) {
    if (!(error instanceof YamlSyntaxError) && !(error instanceof JsonSyntaxError)) throw error
    throw badRequest(`error decoding patch: error converting YAML to JSON: ${error.message}`)
  }
  if (!isObject(parsed.value))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${Array.isArray(parsed.value) ? "array" : "string"} into Go value of type map[string]interface {}`,
    )
  complain(parsed.duplicates, context, issues => {
    throw badRequest(`error strict decoding patch: error converting YAML to JSON: ${issues.join(", ")}`)
  })
  return parsed.value
}

function applied(
  registry: Registry,
  target: Target,
  current: JsonObject | undefined,
  config: JsonObject,
  options: WriteOptions,
  context: RequestContext,
): JsonObject {
  const { kind } = target
  const gvk = goKindName(asString(config.apiVersion), asString(config.kind))
  if (gvk !== goKindName(kind.info.apiVersion, kind.info.kind)) throw badRequest(`invalid object type: ${gvk}`)
  const meta = metaOf(config)
  if (meta.managedFields !== undefined && meta.managedFields !== null)
    throw badRequest("metadata.managedFields must be nil")
  const title = `${asString(meta.namespace)}/${asString(meta.name)}; ${gvk}`
  const merged = applyConfiguration(current, config, registry.management(kind, context, "Apply"), options.force, title)
  const { object } = kind.decode(merged)
  // Decoding filters the metadata too, but the server's own managedFields are kept.
  const managed = metaOf(merged).managedFields
  if (managed !== undefined) metaOf(object).managedFields = managed
  if (current !== undefined && asString(meta.resourceVersion) === "")
    metaOf(object).resourceVersion = asString(metaOf(current).resourceVersion)
  checkPlace(object, target)
  return object
}

/** Formats a GroupVersionKind as Go does; an invalid API version is omitted. */
function goKindName(apiVersion: string, kind: string): string {
  const parts = apiVersion.split("/")
  const [group, version] = parts.length === 1 ? ["", ...parts] : parts.length === 2 ? parts : ["", ""]
  return `${group}/${version}, Kind=${kind}`
}

const SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"

async function deleteBody(exchange: Exchange, kind: Kind): Promise<JsonObject | undefined> {
  const body = exchange.body
  if (body.length === 0) return undefined
  const media = mediaType(exchange.request)
  const type = typeNamed("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
  if (media === "application/vnd.kubernetes.protobuf")
    return decodeBody(body, media, { kind: "DeleteOptions", apiVersion: "v1", builtin: true, type }).value as JsonObject
  if (media !== "application/json" && media !== "application/yaml")
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )
  try {
    const { value } = parseBody(body, media)
    if (!isObject(value)) return undefined
    const given = asString(value.kind)
    const version = asString(value.apiVersion)
    if (given !== "" && given !== "DeleteOptions")
      throw badRequest(
        `no kind ${JSON.stringify(given)} is registered for version ${JSON.stringify(version)} in scheme ${JSON.stringify(SCHEME)}`,
      )
    if (
      version !== "" &&
      version !== "v1" &&
      version !== "meta.k8s.io/v1" &&
      version !== kind.info.apiVersion &&
      kind.builtin
    )
      throw badRequest(
        `no kind "DeleteOptions" is registered for version ${JSON.stringify(version)} in scheme ${JSON.stringify(SCHEME)}`,
      )
    return value
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw badRequest(`couldn't get version/kind; json parse error: ${error.message}`)
    if (error instanceof YamlSyntaxError) throw badRequest(error.message)
    throw error
  }
}

export async function handleDelete(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const accepted = acceptObject(exchange, target.kind)
  const { options, dryRun, document } = deleteOptions(await deleteBody(exchange, target.kind), exchange.query)
  const context = contextOf(exchange, target, { dryRun, fieldManager: "", fieldValidation: "Ignore" })
  const { answer } = await deleteObject(registry, target.kind, context, options, document)
  sendObject(exchange, target.kind, answer, accepted)
}

export async function handleDeleteCollection(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const accepted = acceptObject(exchange, target.kind)
  const selection = parseListOptions(exchange.query, target.kind)
  const { options, dryRun, document } = deleteOptions(await deleteBody(exchange, target.kind), exchange.query)
  const found = await list(registry, target.kind, target.namespace, selection)
  for (const object of found.objects) {
    const meta = metaOf(object)
    const place = { ...target, namespace: asString(meta.namespace), name: asString(meta.name) }
    const context = contextOf(exchange, place, { dryRun, fieldManager: "", fieldValidation: "Ignore" })
    try {
      await deleteObject(registry, target.kind, context, options, document)
    } catch (error) {
      // Another client may have deleted it meanwhile, which is the desired result.
      if (!(error instanceof ApiError) || error.code !== 404) throw error
    }
  }
  sendList(exchange, target.kind, { ...found, remaining: undefined, continue: "" }, accepted)
}
