// SPDX-License-Identifier: Apache-2.0
// The pipeline that creates or updates an object, with the steps in kube-apiserver's order, because the order decides
// which error a client gets. creation.ts and update.ts have the steps that differ.

import type { Allocation } from "../kinds/behaviour.js"
import type { FieldError } from "../meta/field-error.js"
import { metaOf } from "../meta/object-meta.js"
import { invalidError } from "../meta/status.js"
import { trackUpdate } from "../patch/apply/field-manager.js"
import type { Store } from "../store/store.js"
import { asString, clone, type JsonObject } from "../value.js"
import { type AdmissionRequest, inTurn, type RequestContext } from "./context.js"
import { fieldManagement } from "./field-management.js"
import type { Kind } from "./kind.js"
import { withoutRevision } from "./revision.js"

export interface Admission {
  /** Rejects users who may write the object but not create it. */
  authorizeCreate(kind: Kind, context: RequestContext): Promise<void>
  mutate(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<JsonObject>
  validate(kind: Kind, request: AdmissionRequest, context: RequestContext): Promise<void>
}

/** The parts of the registry that the pipeline needs. */
export interface WriteEnvironment {
  readonly store: Store
  readonly admission: Admission
  readonly clock: () => number
}

export interface WriteRequest {
  readonly kind: Kind
  readonly context: RequestContext
  /** CreateOptions or UpdateOptions, for admission. */
  readonly options: JsonObject
  /** Whether managedFields are already correct, as after an apply. */
  readonly tracked: boolean
}

/** The steps in which creating and updating differ, for one attempt. */
export interface WriteSteps {
  readonly operation: "CREATE" | "UPDATE"
  /** The object before an update. It is shared and must not be changed. */
  readonly current: JsonObject | undefined
  /** Makes the checks that precede admission and returns a copy of the object that the client wants. */
  propose(): Promise<JsonObject>
  /** Sets fields that clients cannot choose: those of the server, and those that the subresource must not change. */
  prepare(object: JsonObject): void
  errors(object: JsonObject): FieldError[]
  key(object: JsonObject): string
  /** Makes the checks that kube-apiserver makes after admission. */
  checkLast?(object: JsonObject): void
  /**
   * Returns the stored object; undefined after a conflict with another writer, when the whole attempt must be repeated.
   */
  commit(key: string, stored: JsonObject, addresses: Allocation): Promise<JsonObject | undefined>
}

const NO_ADDRESSES: Allocation = { compares: [], writes: [] }

/** Makes one attempt. Returns undefined after a conflict with another writer. */
export async function attemptWrite(
  environment: WriteEnvironment,
  request: WriteRequest,
  steps: WriteSteps,
): Promise<JsonObject | undefined> {
  const proposed = await steps.propose()
  const tracked = await trackFields(environment, request, steps, proposed)
  const object = await admitMutating(environment, request, steps, tracked)
  await prepareAndValidate(request, steps, object)
  const key = steps.key(object)
  const addresses = await allocateAddresses(environment, request, key, object)
  await admitValidating(environment, request, steps, object)
  steps.checkLast?.(object)
  const stored = await storedForm(request, object)
  return steps.commit(key, stored, addresses)
}

async function trackFields(
  { clock }: WriteEnvironment,
  { kind, context, tracked }: WriteRequest,
  { current }: WriteSteps,
  object: JsonObject,
): Promise<JsonObject> {
  if (tracked) return object
  return inTurn(context, () => trackUpdate(current, object, fieldManagement(kind, context, "Update", clock)))
}

async function admitMutating(
  { admission }: WriteEnvironment,
  request: WriteRequest,
  steps: WriteSteps,
  object: JsonObject,
): Promise<JsonObject> {
  return clone(await admission.mutate(request.kind, admissionRequest(request, steps, object), request.context))
}

async function prepareAndValidate(
  { kind, context }: WriteRequest,
  steps: WriteSteps,
  object: JsonObject,
): Promise<void> {
  const errors = await inTurn(context, () => {
    object.metadata = metaOf(object)
    steps.prepare(object)
    return steps.errors(object)
  })
  if (errors.length === 0) return
  // The error names the kind that the client sent.
  const sent = { group: kind.behaviour.rejectedIn ?? kind.info.group, resource: asString(object.kind) }
  throw invalidError(sent, asString(metaOf(object).name), errors)
}

async function allocateAddresses(
  { store }: WriteEnvironment,
  { kind }: WriteRequest,
  key: string,
  object: JsonObject,
): Promise<Allocation> {
  return (await kind.behaviour.allocate?.({ object, key, prefix: kind.info.prefix, store })) ?? NO_ADDRESSES
}

async function admitValidating(
  { admission }: WriteEnvironment,
  request: WriteRequest,
  steps: WriteSteps,
  object: JsonObject,
): Promise<void> {
  await admission.validate(request.kind, admissionRequest(request, steps, object), request.context)
}

function admissionRequest({ options }: WriteRequest, steps: WriteSteps, object: JsonObject): AdmissionRequest {
  return { operation: steps.operation, object, oldObject: steps.current ?? null, options }
}

async function storedForm({ kind, context }: WriteRequest, object: JsonObject): Promise<JsonObject> {
  return inTurn(context, () => kind.toStored(withoutRevision(object)))
}
