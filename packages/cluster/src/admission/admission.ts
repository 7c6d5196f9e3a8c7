// SPDX-License-Identifier: Apache-2.0
// Everything that may change or reject a write between decoding and storing: the server's own additions, mutating
// webhooks in order, then RBAC escalation, policies and validating webhooks. One pass, no network unless configured.

import { checkEscalation } from "../auth/escalation.js"
import { notAllowed, type Rbac } from "../auth/rbac.js"
import { messageOf } from "../message-of.js"
import { ApiError, forbiddenError, internalError } from "../meta/status.js"
import { JsonPatchError, jsonPatch } from "../patch/json-patch.js"
import type { Catalog } from "../registry/catalog.js"
import type { AdmissionRequest, RequestContext } from "../registry/context.js"
import { groupResource, isNamespace, type Kind, keyOf, prefixOf } from "../registry/kind.js"
import type { Admission } from "../registry/write-pipeline.js"
import { isCondition } from "../schema/crd.js"
import type { Store } from "../store/store.js"
import { asArray, asObject, asString, asStrings, dig, equal, isObject, type Json, type JsonObject } from "../value.js"
import { builtinMutation } from "./builtin-mutation.js"
import { callWebhook, type Target, UndecodablePatch, type Verdict, WebhookFailure } from "./client.js"
import { type AdmissionCall, matchesConditions, matchesRules, matchesSelectors } from "./match.js"
import { checkPolicies } from "./policies.js"
import { reviewRequest } from "./review.js"

const GROUP = "admissionregistration.k8s.io"

interface Hook {
  readonly configuration: string
  readonly hook: JsonObject
}

export class AdmissionChain implements Admission {
  constructor(
    readonly store: Store,
    readonly catalog: Catalog,
    readonly rbac: Rbac,
  ) {}

  async authorizeCreate(kind: Kind, context: RequestContext): Promise<void> {
    const { group, version, plural } = kind.info
    const { namespace, name, subresource } = context
    const attributes = { verb: "create", group, version, resource: plural, subresource, namespace, name }
    if (!(await this.rbac.authorize(context.user, attributes)).allowed)
      throw notAllowed(context.user, attributes, context.name)
  }

  async mutate(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<JsonObject> {
    if (request.operation === "CREATE") this.#rejectTerminating(kind, request)
    const prepared = request.object === null ? null : builtinMutation(kind, request, context)
    let current: AdmissionRequest = { ...request, object: prepared }
    const hooks = await this.#hooks("mutatingwebhookconfigurations", kind)
    const called: { hook: Hook; before: JsonObject | null }[] = []
    const run = async (hook: Hook): Promise<void> => {
      const call = await this.#call(kind, current, context)
      const verdict = await this.#ask(hook, call)
      if (verdict === undefined) return
      this.#judge(hook, verdict, context)
      if (verdict.patch !== undefined && verdict.patch.length > 0 && current.object !== null)
        current = { ...current, object: this.#patched(hook, kind, current.object, verdict.patch) }
      called.push({ hook, before: current.object })
    }
    for (const hook of hooks) await run(hook)
    // A webhook with a reinvocation policy is called once more when a later webhook changed the object.
    for (const { hook, before } of [...called])
      if (hook.hook.reinvocationPolicy === "IfNeeded" && !equal(before, current.object)) await run(hook)
    return current.object ?? {}
  }

  async validate(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<void> {
    if (request.object !== null) await checkEscalation(this.rbac, kind, request.object, request.oldObject, context)
    const call = await this.#call(kind, request, context)
    await checkPolicies(this.store, this.catalog, call)
    const hooks = await this.#hooks("validatingwebhookconfigurations", kind)
    const verdicts = await Promise.all(
      hooks.map(async hook => ({ hook, result: await this.#ask(hook, call).catch((error: unknown) => error) })),
    )
    for (const { hook, result } of verdicts) {
      if (result instanceof Error) throw result
      if (result !== undefined) this.#judge(hook, result as Verdict, context)
    }
  }

  #rejectTerminating(kind: Kind, request: AdmissionRequest): void {
    const crd = (kind as { crd?: JsonObject }).crd
    if (crd !== undefined && isCondition(crd, "Terminating"))
      throw forbiddenError(
        groupResource(kind.info),
        asString(dig(request.object ?? {}, "metadata", "name")),
        "create not allowed while custom resource definition is terminating",
      )
  }

  async #call(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<AdmissionCall> {
    let labels: JsonObject = {}
    if (isNamespace(kind)) labels = asObject(dig(request.object ?? request.oldObject ?? {}, "metadata", "labels"))
    else if (context.namespace !== "") {
      const namespaces = this.catalog.builtin("", "v1", "namespaces")
      const entry = await this.store.get(keyOf(namespaces.info, "", context.namespace))
      labels = asObject(dig(entry?.object, "metadata", "labels"))
    }
    return { kind, request, context, namespaceLabels: labels }
  }

  /** All webhooks of one type, ordered by the names of their configurations. */
  async #hooks(plural: string, kind: Kind): Promise<Hook[]> {
    // Webhooks never see the objects that configure them. Otherwise a broken one could not be repaired.
    if (kind.info.group === GROUP && /webhookconfigurations$|admissionpolic/.test(kind.info.plural)) return []
    const resource = this.catalog.builtin(GROUP, "v1", plural)
    const { entries } = await this.store.range({ prefix: prefixOf(resource.info, "") })
    return entries.flatMap(entry =>
      asArray(entry.object.webhooks).map(hook => ({
        configuration: asString(dig(entry.object, "metadata", "name")),
        hook: asObject(hook),
      })),
    )
  }

  #patched({ hook }: Hook, kind: Kind, object: JsonObject, patch: Json[]): JsonObject {
    try {
      return kind.decode(jsonPatch(object, patch)).object
    } catch (error) {
      if (error instanceof JsonPatchError) throw internalError(error.message)
      if (error instanceof ApiError) throw error
      const why = messageOf(error)
      throw internalError(`the patch of admission webhook ${JSON.stringify(asString(hook.name))} does not fit: ${why}`)
    }
  }

  /** Returns undefined when the webhook does not match the request, or when its failure is ignored. */
  async #ask({ hook }: Hook, call: AdmissionCall): Promise<Verdict | undefined> {
    if (!matchesRules(hook.rules, call) || !matchesSelectors(hook, call)) return undefined
    const name = asString(hook.name)
    const ignore = hook.failurePolicy === "Ignore"
    const request = reviewRequest(call)
    const wanted = matchesConditions(hook, call, request)
    if (wanted === false) return undefined
    if (wanted !== true) {
      if (ignore) return undefined
      throw forbiddenError(groupResource(call.kind.info), asString(request.name), wanted.error)
    }
    if (call.context.dryRun && hook.sideEffects !== "None" && hook.sideEffects !== "NoneOnDryRun")
      throw new ApiError(400, "BadRequest", `admission webhook ${JSON.stringify(name)} does not support dry run`)
    const version = asStrings(hook.admissionReviewVersions).find(item => item === "v1" || item === "v1beta1") ?? "v1"
    const apiVersion = `admission.k8s.io/${version}`
    try {
      const target = await this.#target(asObject(hook.clientConfig))
      const timeout = typeof hook.timeoutSeconds === "number" ? hook.timeoutSeconds : 10
      return await callWebhook(target, { kind: "AdmissionReview", apiVersion, request }, timeout, apiVersion)
    } catch (error) {
      if (error instanceof UndecodablePatch)
        throw internalError(
          `admission webhook ${JSON.stringify(name)} sent a patch that cannot be read: ${error.message}`,
        )
      if (!(error instanceof WebhookFailure)) throw error
      if (ignore) return undefined
      // Fail closed: a webhook that cannot be called rejects the request.
      throw internalError(`failed calling webhook ${JSON.stringify(name)}: ${error.message}`)
    }
  }

  async #target(config: JsonObject): Promise<Target> {
    const caBundle = asString(config.caBundle)
    if (typeof config.url === "string") return { url: config.url, caBundle }
    const service = asObject(config.service)
    const namespace = asString(service.namespace)
    const name = asString(service.name)
    const port = typeof service.port === "number" ? service.port : 443
    const path = asString(service.path)
    const host = `${name}.${namespace}.svc`
    const services = this.catalog.builtin("", "v1", "services")
    const found = (await this.store.get(keyOf(services.info, namespace, name)))?.object
    const url = `https://${host}:${port}${path.startsWith("/") ? path : `/${path}`}`
    if (found === undefined)
      throw new WebhookFailure(
        `failed to call webhook: Post ${JSON.stringify(`${url}?timeout=5s`)}: service ${JSON.stringify(name)} not found`,
      )
    const external = asString(dig(found, "spec", "externalName"))
    const address = external !== "" ? external : await this.#endpoint(namespace, name)
    return {
      url:
        address === undefined
          ? url
          : `https://${address.includes(":") && !address.includes("]") && address.split(":").length > 2 ? `[${address}]` : address}${address.includes(":") ? "" : `:${port}`}${path.startsWith("/") ? path : `/${path}`}`,
      caBundle,
      serverName: host,
    }
  }

  /** There is no Service network, so the first ready endpoint of an EndpointSlice is called directly. */
  async #endpoint(namespace: string, name: string): Promise<string | undefined> {
    const slices = this.catalog.builtin("discovery.k8s.io", "v1", "endpointslices")
    for (const entry of (await this.store.range({ prefix: prefixOf(slices.info, namespace) })).entries) {
      if (dig(entry.object, "metadata", "labels", "kubernetes.io/service-name") !== name) continue
      const port = asArray(entry.object.ports).map(asObject)[0]?.port
      const address = asArray(entry.object.endpoints)
        .map(asObject)
        .find(endpoint => dig(endpoint, "conditions", "ready") !== false)
      const ip = asStrings(address?.addresses)[0]
      if (ip !== undefined && typeof port === "number") return `${ip}:${port}`
    }
    return undefined
  }

  #judge({ hook }: Hook, verdict: Verdict, context: RequestContext): void {
    for (const warning of verdict.warnings) context.warn(warning)
    if (verdict.allowed) return
    const name = JSON.stringify(asString(hook.name))
    const status = verdict.status
    const message = asString(status.message) || asString(status.reason)
    const code = isErrorCode(status.code) ? status.code : 400
    const details = isObject(status.details) ? { details: status.details } : {}
    const text =
      message === ""
        ? `admission webhook ${name} denied the request without explanation`
        : `admission webhook ${name} denied the request: ${message}`
    throw new ApiError(code, asString(status.reason), text, undefined, details)
  }
}

/** Fail closed: a webhook may choose among error codes, but not a status that is no error or that HTTP cannot carry. */
function isErrorCode(code: Json | undefined): code is number {
  return typeof code === "number" && Number.isInteger(code) && code >= 400 && code < 600
}
