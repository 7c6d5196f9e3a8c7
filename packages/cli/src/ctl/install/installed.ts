// SPDX-License-Identifier: Apache-2.0
// The installation in a cluster: its owner, its values, and whether it runs.

import { componentNames } from "@merlon/control/install"
import { ApiError } from "@merlon/control/kubernetes"
import { pathOf } from "../api/path.js"
import type { AnyObject, Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import type { Session } from "../session.js"

const DEPLOYMENTS: Resource = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  singular: "deployment",
  kind: "Deployment",
  shortNames: [],
  categories: [],
  namespaced: true,
}
const LOOK_AGAIN_MS = 500

export function valuesAnnotation(session: Session): string {
  return `${session.names.domain}/values`
}

export async function findInstalled(session: Session): Promise<AnyObject | undefined> {
  try {
    return (await session.api.request({ method: "GET", path: deploymentPath(session) })) as AnyObject // from the server
  } catch (error) {
    if (error instanceof ApiError && error.reason === "NotFound") return undefined
    throw error
  }
}

/** The values of the last `install` or `upgrade`. */
export function keptValues(session: Session, installed: AnyObject): unknown {
  const text = textOf(fieldsOf(installed.metadata.annotations)[valuesAnnotation(session)])
  try {
    return text === undefined ? {} : JSON.parse(text)
  } catch {
    throw new CommandError(
      "invalid-document",
      `the annotation \`${valuesAnnotation(session)}\` of the Deployment cannot be read; give all values with \`-f\` and \`--reset-values\``,
    )
  }
}

/** Two installers that both change the same objects would undo each other's work. */
export function rejectHelmRelease(installed: AnyObject | undefined, session: Session, command: string): void {
  const labels = fieldsOf(installed?.metadata.labels)
  if (labels["app.kubernetes.io/managed-by"] !== "Helm") return
  const release = textOf(fieldsOf(installed?.metadata.annotations)["meta.helm.sh/release-name"]) ?? "RELEASE"
  throw new CommandError(
    "installed-by-helm",
    `it was installed by Helm; use \`helm ${command} ${release} -n ${session.names.rootNamespace}\``,
  )
}

/** Waits until every replica has this version and is ready. */
export async function awaitRollout(session: Session, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const found = await findInstalled(session)
    const { observedGeneration, updatedReplicas, availableReplicas, replicas } = fieldsOf(found?.status)
    const wanted = fieldsOf(found?.spec).replicas
    const isSeen = observedGeneration === found?.metadata.generation
    if (isSeen && updatedReplicas === wanted && availableReplicas === wanted && replicas === wanted) return
    if (performance.now() > end) {
      const { namespace, name } = place(session)
      throw new CommandError(
        "not-ready",
        `${Number(availableReplicas ?? 0)} of ${String(wanted)} replicas are ready after ${timeoutMs / 1000} s${reasons(found)}; look at \`kubectl get pods -n ${namespace}\` and \`kubectl logs -n ${namespace} deploy/${name}\``,
      )
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

function reasons(found: AnyObject | undefined): string {
  const messages = listOf(fieldsOf(found?.status).conditions)
    .map(fieldsOf)
    .filter(({ status }) => status !== "True")
    .map(({ message }) => textOf(message) ?? "")
  return messages.length === 0 ? "" : ` (${messages.join("; ")})`
}

function place({ names }: Session): { readonly namespace: string; readonly name: string } {
  return { namespace: names.rootNamespace, name: componentNames(names).controlPlane }
}

function deploymentPath(session: Session): string {
  return pathOf(DEPLOYMENTS, place(session))
}
