// SPDX-License-Identifier: Apache-2.0
// Injects a document before it is stored, as the webhook does: a Pod, or the Pod template of a workload.

import { type Foreign, objectOf, textOf } from "../registry/foreign.js"
import { injectPod, type PodInjection } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import type { PatchOperation } from "./review.js"

export interface InjectedTemplate {
  readonly object: Foreign
  readonly outcome: PodInjection["outcome"] | "untouched"
  readonly because?: string
  readonly warnings: readonly string[]
}

/** Path of the Pod in a document of this kind; undefined for kinds without Pods. */
const PLACES: { readonly [kind: string]: readonly string[] } = {
  Pod: [],
  CronJob: ["spec", "jobTemplate", "spec", "template"],
  ...Object.fromEntries(
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"].map(kind => [
      kind,
      ["spec", "template"],
    ]),
  ),
}

export function injectTemplate(document: unknown, options: InjectionOptions): InjectedTemplate {
  const object = objectOf(document)
  const path = PLACES[String(object.kind)]
  if (path === undefined) return { object, outcome: "untouched", warnings: [] }
  const pod = path.reduce<unknown>((at, name) => objectOf(at)[name], object)
  const namespace = textOf(objectOf(object.metadata).namespace) ?? "default"
  const result = injectPod(pod, { namespace, namespaceOptedIn: true }, options)
  if (result.outcome !== "injected") {
    const warnings = result.outcome === "skipped" ? result.warnings : []
    return { object, outcome: result.outcome, because: result.because, warnings }
  }
  return {
    object: objectOf(put(object, path, patched(pod, result.patch))),
    outcome: "injected",
    warnings: result.warnings,
  }
}

function put(value: unknown, [first, ...rest]: readonly string[], inner: unknown): unknown {
  return first === undefined ? inner : { ...objectOf(value), [first]: put(objectOf(value)[first], rest, inner) }
}

/** Applies a patch. Injection only sets fields of objects, two levels deep. */
function patched(pod: unknown, patch: readonly PatchOperation[]): unknown {
  let result: unknown = pod
  for (const { path, value } of patch) result = put(result, path.split("/").slice(1), value)
  return result
}
