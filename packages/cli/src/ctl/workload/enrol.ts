// SPDX-License-Identifier: Apache-2.0
// Declares a workload in Kubernetes: root certificate, service account, Pod, and a token that is valid for this Pod only.
// Repeating it changes only the token.

import { componentNames } from "@merlon/control/install"
import { ApiError } from "@merlon/control/kubernetes"
import { pathOf } from "../api/path.js"
import { type AnyObject, coreResource, type Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import { fieldsOf, textOf, textsOf } from "../foreign.js"
import type { Session } from "../session.js"
import { type Declaration, declaredPod, frozenDifference, isDeclared } from "./declared-pod.js"

export const PODS = coreResource("pods", "Pod")
const NAMESPACES = coreResource("namespaces", "Namespace", false)
const SERVICE_ACCOUNTS = coreResource("serviceaccounts", "ServiceAccount")
const CONFIG_MAPS = coreResource("configmaps", "ConfigMap")
const ROOT_CERTIFICATE = "root-cert.pem"
const FIELD_MANAGER = "merlonctl"

export interface Enrolled {
  readonly change: "created" | "configured" | "unchanged"
  readonly pod: AnyObject
}

export async function checkNamespace(session: Session, namespace: string): Promise<void> {
  const found = await getOrNothing(session, NAMESPACES, namespace, undefined)
  if (found === undefined) {
    throw new CommandError(
      "no-namespace",
      `there is no namespace \`${namespace}\`; \`kubectl create namespace ${namespace}\` makes it, \`kubectl label namespace ${namespace} ${session.names.injectionLabel}=enabled\` lets the mesh in`,
    )
  }
}

/** The root certificate by which the workload verifies the control plane. */
export async function rootCertificate(session: Session, namespace: string): Promise<string> {
  const { rootNamespace } = session.names
  const found =
    (await writtenRootCertificate(session, namespace)) ?? (await writtenRootCertificate(session, rootNamespace))
  if (found !== undefined) return found
  const name = componentNames(session.names).trustBundle
  throw new CommandError(
    "not-installed",
    `the mesh's root certificate is not there: no ConfigMap \`${name}\` with \`${ROOT_CERTIFICATE}\` in \`${namespace}\` or \`${rootNamespace}\`; start the control plane first, or give it with \`--trust-bundle FILE\``,
  )
}

/** Undefined until a leading control plane has written it. */
export async function writtenRootCertificate(session: Session, namespace: string): Promise<string | undefined> {
  const map = await getOrNothing(session, CONFIG_MAPS, componentNames(session.names).trustBundle, namespace)
  const pem = textsOf(map?.data)[ROOT_CERTIFICATE]
  return pem?.includes("-----BEGIN CERTIFICATE-----") === true ? pem : undefined
}

/** Whether it was created. */
export async function ensureServiceAccount(session: Session, namespace: string, name: string): Promise<boolean> {
  if ((await getOrNothing(session, SERVICE_ACCOUNTS, name, namespace)) !== undefined) return false
  const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } }
  try {
    await create(session, SERVICE_ACCOUNTS, namespace, body)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.reason === "AlreadyExists") return false
    throw error
  }
}

export async function ensurePod(session: Session, declaration: Declaration): Promise<Enrolled> {
  const { name, namespace } = declaration
  const wanted = declaredPod(declaration, session.names)
  const live = await getOrNothing(session, PODS, name, namespace)
  if (live === undefined) return { change: "created", pod: await create(session, PODS, namespace, wanted) }
  if (!isDeclared(live, session.names)) {
    throw new CommandError(
      "name-taken",
      `\`${name}\` in \`${namespace}\` is a Pod that something runs; choose another name`,
    )
  }
  const difference = frozenDifference(live, wanted)
  if (difference !== undefined) {
    throw new CommandError(
      "name-taken",
      `\`${name}\` is declared with ${difference}; \`merlonctl workload remove ${name} -n ${namespace}\` first`,
    )
  }
  const before = textsOf(live.metadata.labels)
  const after = textsOf(wanted.metadata.labels)
  const removed = Object.keys(before).filter(key => !Object.hasOwn(after, key))
  if (removed.length === 0 && Object.entries(after).every(([key, value]) => before[key] === value)) {
    return { change: "unchanged", pod: live }
  }
  const labels = { ...after, ...Object.fromEntries(removed.map(key => [key, null])) }
  const path = pathOf(PODS, { namespace, name }, { fieldManager: FIELD_MANAGER })
  const contentType = "application/merge-patch+json"
  const pod = await session.api.request({ method: "PATCH", path, body: { metadata: { labels } }, contentType })
  return { change: "configured", pod: pod as AnyObject } // an object from the server
}

export interface BoundToken {
  readonly token: string
  readonly expires: string
}

/** A token like the kubelet's: it becomes invalid when the Pod is deleted. */
export async function boundToken(
  session: Session,
  { metadata: { name, uid } }: AnyObject,
  { namespace, serviceAccount }: Pick<Declaration, "namespace" | "serviceAccount">,
  seconds: number,
  audience = session.names.tokenAudience,
): Promise<BoundToken> {
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      audiences: [audience],
      expirationSeconds: seconds,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
    },
  }
  const path = pathOf(SERVICE_ACCOUNTS, { namespace, name: serviceAccount, subresource: "token" })
  const { status } = fieldsOf(await session.api.request({ method: "POST", path, body }))
  const { token, expirationTimestamp } = fieldsOf(status)
  if (typeof token !== "string" || token === "") {
    throw new CommandError("rejected", "the server made no token; ask its administrator")
  }
  return { token, expires: textOf(expirationTimestamp) ?? "an unknown time" }
}

async function create(session: Session, resource: Resource, namespace: string, body: AnyObject): Promise<AnyObject> {
  const path = pathOf(resource, { namespace }, { fieldManager: FIELD_MANAGER })
  return (await session.api.request({ method: "POST", path, body })) as AnyObject // an object from the server
}

export async function getOrNothing(
  { api }: Session,
  resource: Resource,
  name: string,
  namespace: string | undefined,
): Promise<AnyObject | undefined> {
  try {
    return (await api.request({ method: "GET", path: pathOf(resource, { namespace, name }) })) as AnyObject // from the server
  } catch (error) {
    if (error instanceof ApiError && error.reason === "NotFound") return undefined
    throw error
  }
}
