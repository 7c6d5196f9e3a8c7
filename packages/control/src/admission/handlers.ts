// SPDX-License-Identifier: Apache-2.0
// Which question is answered by what: the paths of the webhooks, each with its handler.

import type { MeshConfig } from "@merlon/policy"
import { INJECT_OPTED_IN_PATH, INJECT_PATH, VALIDATE_PATH } from "../install/webhook-manifests.js"
import { captureService, type PortsBehind } from "./capture-service.js"
import { injectPod } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import type { AdmissionAnswer, AdmissionRequest } from "./review.js"
import { type ValidateOptions, validatePolicy } from "./validate-policy.js"

export type AdmissionHandler = (request: AdmissionRequest) => AdmissionAnswer

export interface HandlerOptions {
  readonly mesh: MeshConfig
  readonly clusterDomain: string
  readonly injection: InjectionOptions
  readonly known?: ValidateOptions["known"]
  /** Labels of a namespace, as far as they are known. */
  readonly namespaceLabels: (namespace: string) => { readonly [key: string]: string } | undefined
  readonly portsBehind: PortsBehind
}

export function admissionHandlers(options: HandlerOptions): ReadonlyMap<string, AdmissionHandler> {
  const { mesh, clusterDomain, known, namespaceLabels } = options
  const optedIn = (namespace: string): boolean => namespaceLabels(namespace)?.[mesh.names.injectionLabel] === "enabled"
  return new Map<string, AdmissionHandler>([
    [
      VALIDATE_PATH,
      request => validatePolicy(request, { mesh, clusterDomain, ...(known === undefined ? {} : { known }) }),
    ],
    [INJECT_PATH, request => inject(request, optedIn(request.namespace), options)],
    [INJECT_OPTED_IN_PATH, request => inject(request, true, options)],
  ])
}

function inject(request: AdmissionRequest, namespaceOptedIn: boolean, options: HandlerOptions): AdmissionAnswer {
  const { group, kind, operation, namespace, object, subresource } = request
  if (subresource !== "" || operation === "DELETE" || operation === "CONNECT") return {}
  const place = { namespace, namespaceOptedIn }
  if (group === "" && kind === "Pod" && operation === "CREATE") {
    const result = injectPod(object, place, options.injection)
    if (result.outcome === "refused") {
      return { refused: { code: 422, reason: "Invalid", message: `no xserver can be injected: ${result.because}` } }
    }
    return result.outcome === "skipped" ? { warnings: result.warnings } : result
  }
  if (group === "" && kind === "Service" && options.injection.capture === "service") {
    return captureService(object, place, options.portsBehind, options.injection)
  }
  return {}
}
