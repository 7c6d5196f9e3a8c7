// SPDX-License-Identifier: Apache-2.0
// The paths of the webhooks, each with its handler.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { Assessment } from "@merlon/policy/proof"
import {
  INJECT_OPTED_IN_PATH,
  INJECT_PATH,
  INJECT_REQUIRED_PATH,
  PODS_PATH,
  REVOCATIONS_PATH,
  VALIDATE_PATH,
} from "../install/webhook-manifests.js"
import { type AssessmentOptions, assessed } from "./assessment.js"
import { captureOf, isOptedIn, outboundSetting } from "./capture-choice.js"
import { captureService, type PortsBehind } from "./capture-service.js"
import { assessedDeletion } from "./deletion.js"
import { injectPod, type PodPlace } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import type { AdmissionAnswer, AdmissionRequest } from "./review.js"
import { validatePod } from "./validate-pod.js"
import { type ValidateOptions, validatePolicy } from "./validate-policy.js"
import { validateRevocations } from "./validate-revocations.js"

export type AdmissionHandler = (request: AdmissionRequest) => AdmissionAnswer | Promise<AdmissionAnswer>

export interface HandlerOptions {
  readonly mesh: MeshConfig
  readonly clusterDomain: string
  readonly injection: InjectionOptions
  /** Assesses what a change means together with everything else. */
  readonly proofs?: Omit<AssessmentOptions, "mesh">
  /** Called with every allowed change of a policy before the answer is sent. */
  readonly allowed?: (request: AdmissionRequest) => void
  /** Labels of a namespace, if it is known. */
  readonly namespaceLabels: (namespace: string) => { readonly [key: string]: string } | undefined
  readonly portsBehind: PortsBehind
}

export function admissionHandlers(options: HandlerOptions): ReadonlyMap<string, AdmissionHandler> {
  const { mesh, clusterDomain, proofs, namespaceLabels } = options
  const optedIn = (namespace: string): boolean => isOptedIn(namespaceLabels(namespace), mesh.names)
  const assessment = proofs && { mesh, ...proofs }
  return new Map<string, AdmissionHandler>([
    [
      VALIDATE_PATH,
      async request => {
        const answer = await reviewPolicy(request, { mesh, clusterDomain }, assessment)
        if (answer.rejected === undefined) options.allowed?.(request)
        return answer
      },
    ],
    [REVOCATIONS_PATH, request => validateRevocations(request, mesh.names)],
    [PODS_PATH, request => validatePod(request, choicesOf(request, options).injection)],
    [INJECT_PATH, request => inject(request, { namespaceOptedIn: optedIn(request.namespace) }, options)],
    [INJECT_OPTED_IN_PATH, request => inject(request, { namespaceOptedIn: true }, options)],
    [INJECT_REQUIRED_PATH, request => inject(request, { namespaceOptedIn: true, required: true }, options)],
  ])
}

async function reviewPolicy(
  request: AdmissionRequest,
  options: ValidateOptions,
  proofs: AssessmentOptions | undefined,
): Promise<AdmissionAnswer> {
  if (request.operation === "DELETE") {
    return proofs === undefined ? {} : admissionAnswer(await assessedDeletion(request, proofs), "keep the policy")
  }
  const { accepted, ...answer } = validatePolicy(request, options)
  if (accepted === undefined) return answer
  const { rejections, warnings } = proofs === undefined ? NO_NEWS : await assessed(request, accepted, proofs)
  return admissionAnswer({ rejections, warnings: [...(answer.warnings ?? []), ...warnings] }, "change the policy")
}

const NO_NEWS: Assessment = { rejections: [], warnings: [] }

function admissionAnswer({ rejections, warnings }: Assessment, advice: string): AdmissionAnswer {
  if (rejections.length === 0) return { warnings }
  const message = `${rejections.join("; ")}; ${advice}, or change the invariant if it is no longer wanted`
  return { rejected: { error: "invariant-violation", code: 403, reason: "Forbidden", message }, warnings }
}

function inject(
  request: AdmissionRequest,
  optedIn: Omit<PodPlace, "namespace">,
  options: HandlerOptions,
): AdmissionAnswer {
  const { group, kind, operation, namespace, object, subresource } = request
  if (subresource !== "" || operation === "DELETE" || operation === "CONNECT") return {}
  const place = { namespace, ...optedIn }
  const { injection: chosen, warnings } = choicesOf(request, options)
  if (group === "" && kind === "Pod" && operation === "CREATE") {
    const result = injectPod(object, place, chosen)
    if (result.outcome === "rejected") {
      return {
        rejected: {
          error: "injection-failed",
          code: 422,
          reason: "Invalid",
          message: `no xserver can be injected: ${result.because}`,
        },
      }
    }
    if (result.outcome === "skipped") return { warnings: result.warnings }
    return { ...result, warnings: [...result.warnings, ...warnings] }
  }
  if (group === "" && kind === "Service" && chosen.capture === "service") {
    return captureService(object, place, options.portsBehind, chosen)
  }
  return {}
}

/** Injection options for the request's namespace. */
function choicesOf(
  { namespace }: AdmissionRequest,
  { mesh: { names }, injection, namespaceLabels }: HandlerOptions,
): { readonly injection: InjectionOptions; readonly warnings: readonly string[] } {
  const labels = namespaceLabels(namespace)
  const capture = captureOf(labels, injection.capture, names)
  const { outbound, warnings } = outboundSetting(labels, injection.outbound, names)
  return { injection: { ...injection, capture, outbound }, warnings }
}
