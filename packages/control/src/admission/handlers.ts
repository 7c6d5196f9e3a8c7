// SPDX-License-Identifier: Apache-2.0
// Which question is answered by what: the paths of the webhooks, each with its handler.

import type { MeshConfig } from "@merlon/policy"
import {
  INJECT_OPTED_IN_PATH,
  INJECT_PATH,
  INJECT_REQUIRED_PATH,
  REVOCATIONS_PATH,
  VALIDATE_PATH,
} from "../install/webhook-manifests.js"
import { type AssessmentOptions, assessed } from "./assessment.js"
import { captureOf, isOptedIn } from "./capture-choice.js"
import { captureService, type PortsBehind } from "./capture-service.js"
import { Comparison, type ComparisonOptions } from "./comparison.js"
import { injectPod, type PodPlace } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import { ProofShares } from "./proof-shares.js"
import type { AdmissionAnswer, AdmissionRequest } from "./review.js"
import { type ValidateOptions, validatePolicy } from "./validate-policy.js"
import { validateRevocations } from "./validate-revocations.js"

export type AdmissionHandler = (request: AdmissionRequest) => AdmissionAnswer | Promise<AdmissionAnswer>

export interface HandlerOptions {
  readonly mesh: MeshConfig
  readonly clusterDomain: string
  readonly injection: InjectionOptions
  /** What is in the cluster now, to compare with. */
  readonly known?: ComparisonOptions["known"]
  /** The same without a limit, for proofs, which have one of their own. */
  readonly everything?: AssessmentOptions["everything"]
  /** Labels of a namespace, as far as they are known. */
  readonly namespaceLabels: (namespace: string) => { readonly [key: string]: string } | undefined
  readonly portsBehind: PortsBehind
}

export function admissionHandlers(options: HandlerOptions): ReadonlyMap<string, AdmissionHandler> {
  const { mesh, clusterDomain, known, everything, namespaceLabels } = options
  const optedIn = (namespace: string): boolean => isOptedIn(namespaceLabels(namespace), mesh.names)
  const comparison = known === undefined ? undefined : new Comparison({ mesh, known })
  const proofs = everything && { mesh, everything, shares: new ProofShares() }
  return new Map<string, AdmissionHandler>([
    [VALIDATE_PATH, request => reviewPolicy(request, { mesh, clusterDomain }, comparison, proofs)],
    [REVOCATIONS_PATH, request => validateRevocations(request, mesh.names)],
    [INJECT_PATH, request => inject(request, { namespaceOptedIn: optedIn(request.namespace) }, options)],
    [INJECT_OPTED_IN_PATH, request => inject(request, { namespaceOptedIn: true }, options)],
    [INJECT_REQUIRED_PATH, request => inject(request, { namespaceOptedIn: true, required: true }, options)],
  ])
}

async function reviewPolicy(
  request: AdmissionRequest,
  options: ValidateOptions,
  comparison: Comparison | undefined,
  proofs: AssessmentOptions | undefined,
): Promise<AdmissionAnswer> {
  const { accepted, ...answer } = validatePolicy(request, options)
  if (accepted === undefined) return answer
  const found = proofs && assessed(request, accepted, proofs)
  const warnings = [...(answer.warnings ?? []), ...(found?.warnings ?? [])]
  if (found !== undefined && found.refusals.length > 0) {
    const message = `${found.refusals.join("; ")}; change the policy, or the statement if it is no longer meant`
    return { refused: { code: 403, reason: "Forbidden", message }, warnings }
  }
  return { ...answer, warnings: [...warnings, ...((await comparison?.of(accepted)) ?? [])] }
}

function inject(
  request: AdmissionRequest,
  wish: Omit<PodPlace, "namespace">,
  { mesh, injection, namespaceLabels, portsBehind }: HandlerOptions,
): AdmissionAnswer {
  const { group, kind, operation, namespace, object, subresource } = request
  if (subresource !== "" || operation === "DELETE" || operation === "CONNECT") return {}
  const place = { namespace, ...wish }
  const capture = captureOf(namespaceLabels(namespace), injection.capture, mesh.names)
  if (group === "" && kind === "Pod" && operation === "CREATE") {
    const result = injectPod(object, place, { ...injection, capture })
    if (result.outcome === "refused") {
      return { refused: { code: 422, reason: "Invalid", message: `no xserver can be injected: ${result.because}` } }
    }
    return result.outcome === "skipped" ? { warnings: result.warnings } : result
  }
  if (group === "" && kind === "Service" && capture === "service") {
    return captureService(object, place, portsBehind, injection)
  }
  return {}
}
