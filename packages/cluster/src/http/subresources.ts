// SPDX-License-Identifier: Apache-2.0
// Subresources with their own semantics: scale, binding, eviction, log, finalize and token. `status` is an ordinary
// update that only changes the status.

import { type ReviewServices, tokenRequest } from "../auth/reviews.js"
import { noExec, noLogs } from "../kinds/advice.js"
import { DecodeError, decode } from "../kinds/codec.js"
import { applyTypeDefaults } from "../kinds/defaults.js"
import { typeNamed } from "../kinds/type-table.js"
import { ruleOf } from "../kinds/validation/by-kind.js"
import { metaOf } from "../meta/object-meta.js"
import { ApiError, badRequest, conflict, invalidError, methodNotAllowed, notFound } from "../meta/status.js"
import { deleteObject } from "../registry/deletion.js"
import type { Kind } from "../registry/kind.js"
import type { Registry } from "../registry/registry.js"
import { printSelector, selectorFromObject } from "../selectors/label.js"
import {
  asArray,
  asObject,
  asString,
  asStrings,
  clone,
  dig,
  getKey,
  isNumber,
  isObject,
  type JsonObject,
  setKey,
} from "../value.js"
import { now } from "../wire/go-time.js"
import { decodeBody, mediaType } from "./body.js"
import type { Exchange } from "./exchange.js"
import { noForms } from "./negotiate.js"
import { deleteOptions, writeOptions } from "./options.js"
import { applyPatch, type Patchable, parsePatch, patchTypes } from "./patch-body.js"
import { trackReview } from "./track-review.js"
import { contextOf, type Target } from "./write-handlers.js"

const SCALE = "io.k8s.api.autoscaling.v1.Scale"

async function bodyAs(exchange: Exchange, kind: string, apiVersion: string, type: string): Promise<JsonObject> {
  const body = exchange.body
  const parsed = decodeBody(body, mediaType(exchange.request), {
    kind,
    apiVersion,
    builtin: true,
    type: typeNamed(type),
  })
  try {
    return { ...decode(typeNamed(type), parsed.value), kind, apiVersion }
  } catch (error) {
    if (error instanceof DecodeError)
      throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${error.message}`)
    throw error
  }
}

/** Returns whether the subresource was handled here. */
export async function handleSubresource(
  exchange: Exchange,
  registry: Registry,
  services: ReviewServices,
  target: Target,
): Promise<boolean> {
  const { kind, subresource } = target
  if (subresource === "scale" && kind.scale !== undefined) {
    await handleScale(exchange, registry, target)
    return true
  }
  if (!kind.builtin || kind.info.group !== "") return false
  switch (`${kind.info.plural}/${subresource}`) {
    case "serviceaccounts/token": {
      if (exchange.method !== "POST") throw methodNotAllowed()
      const type = typeNamed("io.k8s.api.authentication.v1.TokenRequest")
      const request = await bodyAs(exchange, "TokenRequest", "authentication.k8s.io/v1", type.name)
      applyTypeDefaults(type, request)
      const context = contextOf(
        exchange,
        target,
        writeOptions("CreateOptions", exchange.query, exchange.request, false),
      )
      exchange.send(
        201,
        await tokenRequest(
          services,
          trackReview({ apiVersion: "authentication.k8s.io/v1", type }, request, context),
          context,
        ),
      )
      return true
    }
    case "pods/binding":
      if (exchange.method !== "POST") throw methodNotAllowed()
      await handleBinding(exchange, registry, target)
      return true
    case "pods/eviction": {
      if (exchange.method !== "POST") throw methodNotAllowed()
      const eviction = await bodyAs(exchange, "Eviction", "policy/v1", "io.k8s.api.policy.v1.Eviction")
      const own = isObject(eviction.deleteOptions) ? eviction.deleteOptions : undefined
      const { options, dryRun, document } = deleteOptions(own, exchange.query)
      await deleteObject(
        registry,
        kind,
        contextOf(exchange, { ...target, subresource: "" }, { dryRun, fieldManager: "", fieldValidation: "Ignore" }),
        options,
        document,
      )
      exchange.send(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 })
      return true
    }
    case "pods/log":
      if (exchange.method !== "GET") throw methodNotAllowed()
      await handleLog(exchange, registry, target)
      return true
    case "pods/exec":
    case "pods/attach":
    case "pods/portforward": {
      const pod = await registry.get(kind, target.namespace, target.name)
      const node = asString(dig(pod, "spec", "nodeName"))
      throw node === ""
        ? badRequest(`pod ${target.name} does not have a host assigned: ${noExec}`)
        : badRequest(`pod ${target.name} is on node ${node}, which cannot be reached: ${noExec}`)
    }
    case "namespaces/finalize":
      if (exchange.method !== "PUT") throw methodNotAllowed()
      await handleFinalize(exchange, registry, target)
      return true
    default:
      return false
  }
}

function scaleOf(kind: Kind, object: JsonObject): JsonObject {
  const meta = metaOf(object)
  const paths = kind.scale
  const replicas = paths === undefined ? undefined : dig(object, ...paths.spec)
  const current = paths === undefined ? undefined : dig(object, ...paths.status)
  const selected = paths?.selector === undefined ? undefined : dig(object, ...paths.selector)
  const selector =
    typeof selected === "string"
      ? selected
      : printSelector(
          selectorFromObject(
            isObject(selected) && selected.matchLabels === undefined && selected.matchExpressions === undefined
              ? { matchLabels: selected }
              : selected,
          ) ?? [],
        )
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name: meta.name ?? "",
      ...(kind.info.namespaced ? { namespace: meta.namespace ?? "" } : {}),
      uid: meta.uid ?? "",
      resourceVersion: meta.resourceVersion ?? "",
      creationTimestamp: meta.creationTimestamp ?? null,
    },
    spec: isNumber(replicas) && replicas !== 0 ? { replicas } : {},
    status: { replicas: isNumber(current) ? current : 0, ...(selector === "" ? {} : { selector }) },
  }
}

async function handleScale(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const { kind } = target
  if (exchange.method === "GET" || exchange.method === "HEAD") {
    exchange.send(200, scaleOf(kind, await registry.get(kind, target.namespace, target.name)))
    return
  }
  if (exchange.method !== "PUT" && exchange.method !== "PATCH") throw methodNotAllowed()
  const options = writeOptions(
    exchange.method === "PUT" ? "UpdateOptions" : "PatchOptions",
    exchange.query,
    exchange.request,
    false,
  )
  const context = contextOf(exchange, { ...target, subresource: "" }, options)
  const next = await scaleChange(exchange)
  const written = await registry.update({
    kind,
    context: { ...context, subresource: "scale" },
    transform: current => {
      const object = clone(current ?? {})
      const scale = next(scaleOf(kind, object))
      const errors = ruleOf("Scale").validate(scale)
      if (errors.length > 0) throw invalidError({ group: "autoscaling", resource: "Scale" }, target.name, errors)
      const version = asString(metaOf(scale).resourceVersion)
      if (version !== "") metaOf(object).resourceVersion = version
      setPath(object, kind.scale?.spec ?? [], dig(scale, "spec", "replicas") ?? 0)
      return object
    },
    options: options.document,
    create: "never",
    tracked: false,
    exact: false,
  })
  exchange.send(200, scaleOf(kind, written.object))
}

async function scaleChange(exchange: Exchange): Promise<(current: JsonObject) => JsonObject> {
  if (exchange.method === "PUT") {
    const scale = await bodyAs(exchange, "Scale", "autoscaling/v1", SCALE)
    return () => scale
  }
  const media = mediaType(exchange.request)
  const type = Object.hasOwn(patchTypes, media) ? patchTypes[media] : undefined
  if (type === undefined || type === "apply")
    throw new ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
  const patch = parsePatch(type, exchange.body, "Ignore")
  const scale: Patchable = {
    info: { kind: "Scale", apiVersion: "autoscaling/v1" },
    decode: value => ({
      object: { ...decode(typeNamed(SCALE), value), kind: "Scale", apiVersion: "autoscaling/v1" },
      unknown: [],
    }),
  }
  const silent = { fieldValidation: "Ignore" as const, warn: () => undefined }
  return current => applyPatch(scale, typeNamed(SCALE), current, patch, silent)
}

function setPath(object: JsonObject, path: readonly string[], value: NonNullable<ReturnType<typeof dig>>): void {
  let node = object
  for (const key of path.slice(0, -1)) {
    const child = asObject(getKey(node, key))
    setKey(node, key, child)
    node = child
  }
  setKey(node, path.at(-1) ?? "", value)
}

async function handleBinding(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const binding = await bodyAs(exchange, "Binding", "v1", "io.k8s.api.core.v1.Binding")
  const node = asString(dig(binding, "target", "name"))
  const options = writeOptions("CreateOptions", exchange.query, exchange.request, false)
  await registry.update({
    kind: target.kind,
    context: contextOf(exchange, target, options),
    transform: current => {
      const pod = clone(current ?? {})
      const spec = asObject(pod.spec)
      const taken = asString(spec.nodeName)
      if (taken !== "")
        throw conflict(
          { group: "", resource: "pods/binding" },
          target.name,
          `pod ${target.name} is already assigned to node ${JSON.stringify(taken)}`,
        )
      spec.nodeName = node
      const status = asObject(pod.status)
      const conditions = asArray(status.conditions).filter(item => asObject(item).type !== "PodScheduled")
      pod.status = {
        ...status,
        conditions: [
          ...conditions,
          { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now(registry.clock) },
        ],
      }
      return pod
    },
    options: options.document,
    create: "never",
    tracked: true,
    exact: false,
  })
  exchange.send(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 })
}

/** There are no nodes: a Pod without a node has no log yet, and the node of any other Pod cannot be reached. */
async function handleLog(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  const pod = await registry.get(target.kind, target.namespace, target.name)
  const requested = exchange.query.get("container") ?? ""
  const names = asArray(dig(pod, "spec", "containers")).map(container => asString(asObject(container).name))
  if (requested !== "" && !names.includes(requested))
    throw badRequest(`container ${requested} is not valid for pod ${target.name}`)
  if (requested === "" && names.length > 1)
    throw badRequest(`a container name must be specified for pod ${target.name}, choose one of: [${names.join(" ")}]`)
  exchange.warn(noLogs)
  const node = asString(dig(pod, "spec", "nodeName"))
  if (node !== "") throw notFound({ group: "", resource: "pods" }, node)
  exchange.warningHeaders()
  exchange.response.statusCode = 204
  exchange.response.end()
}

async function handleFinalize(exchange: Exchange, registry: Registry, target: Target): Promise<void> {
  exchange.accept(noForms, ["application/json"], true)
  const namespace = await bodyAs(exchange, "Namespace", "v1", "io.k8s.api.core.v1.Namespace")
  const options = writeOptions("UpdateOptions", exchange.query, exchange.request, false)
  const written = await registry.update({
    kind: target.kind,
    context: contextOf(exchange, target, options),
    transform: current => ({
      ...(current ?? {}),
      spec: { finalizers: asStrings(dig(namespace, "spec", "finalizers")) },
    }),
    options: options.document,
    create: "never",
    tracked: false,
    exact: false,
  })
  exchange.send(200, written.object)
}
