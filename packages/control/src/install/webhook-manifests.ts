// SPDX-License-Identifier: Apache-2.0
// The webhook registrations, as values. Selectors decide which Pods are injected, so that a cluster without opted-in
// namespaces never depends on us.

import type { MeshNames } from "@merlon/policy/mesh"
import { KINDS, servedVersions } from "@merlon/policy/resources"
import { CONFINED, POD_SECURITY_LABEL } from "../admission/capture-choice.js"
import { injectionNames } from "../admission/injection-options.js"
import { NAMESPACE_CONTROLLER } from "../admission/review.js"
import { authorityNames } from "../authority/authority-names.js"
import { type OwnerReference, ownedBy } from "../kubernetes/owner-reference.js"
import { MUTATING_WEBHOOKS, policyTypes, VALIDATING_WEBHOOKS } from "../kubernetes/resource-type.js"
import { isSecurityKind } from "../policies/stored-policy.js"
import { componentNames } from "./component-names.js"
import { type Manifest, partOf } from "./manifests.js"

/** The address for the API server: a URL outside the cluster, a Service inside. */
export type WebhookAddress =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port: number } }

export interface WebhookOptions {
  readonly names: MeshNames
  readonly address: WebhookAddress
  /** PEM of the authority of our serving certificate. An installer does not know it, so a replica fills it in. */
  readonly caBundle?: string
  /** Returns the path to register instead of the plain one, which only a replica knows. */
  readonly pathOf?: (path: string) => string
  /** Services are changed only if they capture traffic. */
  readonly capture: "redirect" | "service"
  /** Owners with which the registrations are deleted: left behind, they would keep Pods from starting. */
  readonly owners?: readonly OwnerReference[]
}

/** Path for opted-in namespaces. The API server has evaluated the label, which may be newer than our copy. */
export const INJECT_OPTED_IN_PATH = "/inject/enabled"
export const INJECT_PATH = "/inject"
/** Path for namespaces that accept no Pod without an xserver. */
export const INJECT_REQUIRED_PATH = "/inject/required"
/** Pods of such a namespace after all webhooks have changed them, and their updates. */
export const PODS_PATH = "/validate/pods"
export const VALIDATE_PATH = "/validate"
export const REVOCATIONS_PATH = "/validate/revocations"

const TIMEOUT_SECONDS = 10
const NAME_LABEL = "kubernetes.io/metadata.name"

export function webhookManifests(options: WebhookOptions): readonly Manifest[] {
  const { names } = options
  const { validator, injector } = componentNames(names)
  const apiVersion = "admissionregistration.k8s.io/v1"
  const { owners = [] } = options
  const metadata = (name: string) => ({ name, labels: partOf(names), ...ownedBy(owners) })
  return [
    {
      type: VALIDATING_WEBHOOKS,
      object: {
        apiVersion,
        kind: "ValidatingWebhookConfiguration",
        metadata: metadata(validator),
        webhooks: [validation(options), revocations(options), requiredPods(options)],
      },
    },
    {
      type: MUTATING_WEBHOOKS,
      object: {
        apiVersion,
        kind: "MutatingWebhookConfiguration",
        metadata: metadata(injector),
        webhooks: injection(options),
      },
    },
  ]
}

function validation(options: WebhookOptions) {
  const { names } = options
  const types = Object.values(policyTypes(names))
  const versions = [...servedVersions(names)]
  const enforced = types.filter(({ kind }) => ENFORCED.has(kind)).map(({ plural }) => plural)
  return {
    name: `validation.${names.domain}`,
    ...common(options, VALIDATE_PATH),
    // Stored changes are recorded in the history.
    sideEffects: "NoneOnDryRun",
    rules: [
      ...[...new Set(types.map(({ group }) => group))].map(group =>
        rule(
          [group],
          types.filter(type => type.group === group).map(({ plural }) => plural),
          ["CREATE", "UPDATE"],
          versions,
        ),
      ),
      rule([names.securityGroup], enforced, ["DELETE"], versions),
    ],
    // The deletion of a namespace does not wait for us, even while we are down.
    matchConditions: [{ name: "not-with-its-namespace", expression: NOT_WITH_ITS_NAMESPACE }],
  }
}

/** Kinds that proxies enforce: deleting one may allow requests that were denied. */
const ENFORCED: ReadonlySet<string> = new Set(KINDS.map(({ kind }) => kind).filter(isSecurityKind))
const NOT_WITH_ITS_NAMESPACE = `request.operation != "DELETE" || request.userInfo.username != "${NAMESPACE_CONTROLLER}"`

/**
 * For one ConfigMap. Writes do not fail without this webhook, since the control plane writes the ConfigMap too; an
 * Event reports invalid lines.
 */
function revocations(options: WebhookOptions) {
  const { namespace, revocationsConfigMap } = authorityNames(options.names)
  return {
    name: `revocations.${options.names.domain}`,
    ...common(options, REVOCATIONS_PATH),
    failurePolicy: "Ignore",
    rules: [rule([""], ["configmaps"], ["CREATE", "UPDATE"], ["v1"])],
    namespaceSelector: { matchLabels: { [NAME_LABEL]: namespace } },
    matchConditions: [{ name: "revocations", expression: `object.metadata.name == "${revocationsConfigMap}"` }],
  }
}

/**
 * Other webhooks may change a Pod after the injector, and later updates may too. Most updates are bookkeeping of
 * controllers (finalizers, owners), which must not fail while we are down.
 */
function requiredPods(options: WebhookOptions) {
  const { names } = options
  const differs = (field: string): string => {
    const of = (object: string) => `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : {})`
    return `${of("object")} != ${of("oldObject")}`
  }
  const changes = ["object.spec != oldObject.spec", differs("annotations"), differs("labels")].join(" || ")
  return {
    name: `required.pods.${names.domain}`,
    ...common(options, PODS_PATH),
    rules: [
      rule([""], ["pods"], ["CREATE", "UPDATE"], ["v1"]),
      rule([""], ["pods/ephemeralcontainers"], ["UPDATE"], ["v1"]),
    ],
    namespaceSelector: {
      matchExpressions: [{ key: names.injectionLabel, operator: "In", values: ["required"] }, neverInjected(names)],
    },
    matchConditions: [{ name: "changes-the-proxy", expression: `request.operation == "CREATE" || ${changes}` }],
  }
}

/** Namespaces whose Pods we, or the cluster, need in order to start. */
function neverInjected({ rootNamespace }: MeshNames) {
  return { key: NAME_LABEL, operator: "NotIn", values: ["kube-system", rootNamespace] }
}

function injection(options: WebhookOptions) {
  const { names, capture } = options
  const optedIn = (operator: string, ...values: string[]) => ({ key: names.injectionLabel, operator, values })
  const never = neverInjected(names)
  const label = (operator: string, value: string) => ({ key: names.injectLabel, operator, values: [value] })
  const pods = rule([""], ["pods"], ["CREATE"], ["v1"])
  const services = rule([""], ["services"], ["CREATE", "UPDATE"], ["v1"])
  const rules = capture === "service" ? [pods, services] : [pods]
  const hook = (name: string, path: string, rules: readonly object[], namespaces: readonly object[]) => ({
    name: `${name}.injection.${names.domain}`,
    ...common(options, path),
    reinvocationPolicy: "IfNeeded",
    rules,
    namespaceSelector: { matchExpressions: [...namespaces, never] },
  })
  return [
    {
      ...hook("namespace", INJECT_OPTED_IN_PATH, rules, [optedIn("In", "enabled")]),
      objectSelector: { matchExpressions: [label("NotIn", "false")] },
    },
    // Applies whatever the labels of Pods say.
    hook("required", INJECT_REQUIRED_PATH, rules, [optedIn("In", "required")]),
    {
      ...hook("pod", INJECT_PATH, [pods], [optedIn("NotIn", "enabled", "required")]),
      objectSelector: { matchExpressions: [label("In", "true")] },
    },
    // Namespaces that are captured by Service although the others are not (`capture-choice.ts`).
    ...(capture === "service" ? [] : byService(names)).map(([name, expression]) => ({
      ...hook(name, INJECT_OPTED_IN_PATH, [services], [optedIn("In", "enabled", "required"), expression]),
      objectSelector: { matchExpressions: [label("NotIn", "false")] },
    })),
  ]
}

function byService(names: MeshNames): readonly (readonly [name: string, expression: object])[] {
  const { namespaceCaptureLabel } = injectionNames(names)
  return [
    ["confined", { key: POD_SECURITY_LABEL, operator: "In", values: [...CONFINED] }],
    ["chosen", { key: namespaceCaptureLabel, operator: "In", values: ["service"] }],
  ]
}

function common({ address, caBundle, pathOf }: WebhookOptions, plain: string) {
  const path = pathOf?.(plain) ?? plain
  return {
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    // A policy must not be stored unchecked, and a Pod must not start without its proxy.
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    timeoutSeconds: TIMEOUT_SECONDS,
    clientConfig: {
      ...(caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString("base64") }),
      ...("url" in address
        ? { url: `${address.url.replace(/\/$/, "")}${path}` }
        : { service: { ...address.service, path } }),
    },
  }
}

function rule(apiGroups: string[], resources: string[], operations: string[], apiVersions: string[]) {
  return { apiGroups, apiVersions, operations, resources, scope: "Namespaced" }
}
