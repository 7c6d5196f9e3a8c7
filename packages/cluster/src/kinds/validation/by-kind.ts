// SPDX-License-Identifier: Apache-2.0
// Maps built-in kinds to their validation rules. Kinds that are not listed are plain documents: only their types and
// metadata are checked.

import { type FieldError, forbidden, invalid, notSupported, required } from "../../meta/field-error.js"
import { labelErrors, type NameCheckLike, pathSegmentErrors, subdomainErrors } from "../../meta/names.js"
import { validateCrd, validateCrdUpdate } from "../../schema/crd.js"
import { matchesLabels, selectorFromObject } from "../../selectors/label.js"
import { asObject, asString, dig, equal, isEmpty, isNumber, type JsonObject } from "../../value.js"
import { validateConfigMap, validateConfigMapUpdate, validateSecret, validateSecretUpdate } from "./config.js"
import { validatePod, validatePodTemplate, validatePodUpdate } from "./pod.js"
import {
  bindingUpdate,
  validateClusterRole,
  validateClusterRoleBinding,
  validateRole,
  validateRoleBinding,
} from "./rbac.js"
import {
  validateEndpointSlice,
  validateEndpointSliceUpdate,
  validateService,
  validateServiceUpdate,
} from "./service.js"
import { validateWebhooks } from "./webhooks.js"

export interface KindRules {
  validate(object: JsonObject): FieldError[]
  validateUpdate(object: JsonObject, old: JsonObject): FieldError[]
}

const both = (validate: (object: JsonObject) => FieldError[]): KindRules => ({ validate, validateUpdate: validate })

function validateLease(lease: JsonObject): FieldError[] {
  const spec = asObject(lease.spec)
  const errors: FieldError[] = []
  if (isNumber(spec.leaseDurationSeconds) && spec.leaseDurationSeconds <= 0)
    errors.push(invalid("spec.leaseDurationSeconds", spec.leaseDurationSeconds, "must be greater than 0"))
  if (isNumber(spec.leaseTransitions) && spec.leaseTransitions < 0)
    errors.push(invalid("spec.leaseTransitions", spec.leaseTransitions, "must be greater than or equal to 0"))
  return errors
}

/** Events sent through events.k8s.io must be complete; core/v1 Events only if they have an eventTime. */
function validateEvent(event: JsonObject): FieldError[] {
  const namespace = asString(dig(event, "metadata", "namespace"))
  const own = asString(asObject(event.involvedObject ?? event.regarding).namespace)
  const modern = event.apiVersion === "events.k8s.io/v1"
  const errors: FieldError[] = []
  // Events of objects without a namespace belong to `default`.
  if (own === "" ? namespace !== "" && namespace !== "default" : own !== namespace)
    errors.push(invalid("involvedObject.namespace", own, "does not match event.namespace"))
  if (!isEmpty(event.eventTime)) {
    const controller = modern ? "reportingController" : "reportingComponent"
    for (const key of [controller, "reportingInstance", "action", "reason"])
      if (isEmpty(event[key])) errors.push(required(key))
  }
  if (modern) {
    if (isEmpty(event.eventTime)) errors.push(required("eventTime"))
    const type = asString(event.type)
    if (type !== "Normal" && type !== "Warning") errors.push(invalid("type", "", `has invalid value: ${type}`))
  }
  return errors
}

function validateWorkload(object: JsonObject): FieldError[] {
  const spec = asObject(object.spec)
  const template = asObject(spec.template)
  const errors: FieldError[] = []
  if (isNumber(spec.replicas) && spec.replicas < 0)
    errors.push(invalid("spec.replicas", spec.replicas, "must be greater than or equal to 0"))
  const selector = selectorFromObject(spec.selector)
  const labels = dig(template, "metadata", "labels") ?? null
  const unmatched = invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
  if (selector === undefined) errors.push(required("spec.selector"), unmatched)
  else if (selector.length === 0)
    errors.push(invalid("spec.selector", asObject(spec.selector), "empty selector is invalid for deployment"))
  else if (!matchesLabels(selector, asObject(labels))) errors.push(unmatched)
  errors.push(...validatePodTemplate(template, "spec.template"))
  const restart = asString(dig(template, "spec", "restartPolicy"))
  if (["OnFailure", "Never"].includes(restart))
    errors.push(notSupported("spec.template.spec.restartPolicy", restart, ["Always"]))
  return [...errors, ...validateStrategy(object)]
}

function validateStrategy(object: JsonObject): FieldError[] {
  if (object.kind !== "Deployment") return []
  const strategy = asObject(dig(object, "spec", "strategy"))
  const type = asString(strategy.type)
  if (type !== "Recreate" && type !== "RollingUpdate")
    return [notSupported("spec.strategy.type", type, ["Recreate", "RollingUpdate"])]
  if (type === "Recreate" && strategy.rollingUpdate !== undefined)
    return [forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
  return []
}

function workloadUpdate(object: JsonObject, old: JsonObject): FieldError[] {
  const next = dig(object, "spec", "selector") ?? null
  const errors = validateWorkload(object)
  if (!equal(next, dig(old, "spec", "selector") ?? null))
    errors.push(invalid("spec.selector", next, "field is immutable"))
  return errors
}

function validateScale(scale: JsonObject): FieldError[] {
  const replicas = dig(scale, "spec", "replicas")
  return isNumber(replicas) && replicas < 0
    ? [invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
    : []
}

const workload: KindRules = { validate: validateWorkload, validateUpdate: workloadUpdate }

const kindRules: Readonly<Record<string, KindRules>> = {
  ConfigMap: { validate: validateConfigMap, validateUpdate: validateConfigMapUpdate },
  Secret: { validate: validateSecret, validateUpdate: validateSecretUpdate },
  Service: { validate: validateService, validateUpdate: validateServiceUpdate },
  EndpointSlice: { validate: validateEndpointSlice, validateUpdate: validateEndpointSliceUpdate },
  Pod: { validate: validatePod, validateUpdate: validatePodUpdate },
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  DaemonSet: workload,
  Lease: both(validateLease),
  Event: { validate: validateEvent, validateUpdate: validateEvent },
  Role: both(validateRole),
  ClusterRole: both(validateClusterRole),
  RoleBinding: { validate: validateRoleBinding, validateUpdate: bindingUpdate(validateRoleBinding) },
  ClusterRoleBinding: {
    validate: validateClusterRoleBinding,
    validateUpdate: bindingUpdate(validateClusterRoleBinding),
  },
  ValidatingWebhookConfiguration: both(validateWebhooks),
  MutatingWebhookConfiguration: both(validateWebhooks),
  CustomResourceDefinition: { validate: validateCrd, validateUpdate: validateCrdUpdate },
  Scale: both(validateScale),
}

const labelNames = new Set(["Namespace", "Service", "ReplicationController"])
const segmentNames = new Set(["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"])

export function nameCheckOf(kind: string): NameCheckLike {
  if (labelNames.has(kind)) return labelErrors
  return segmentNames.has(kind) ? pathSegmentErrors : subdomainErrors
}

export function ruleOf(kind: string): KindRules {
  return (
    (Object.hasOwn(kindRules, kind) ? kindRules[kind] : undefined) ?? { validate: () => [], validateUpdate: () => [] }
  )
}
