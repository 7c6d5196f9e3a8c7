// SPDX-License-Identifier: Apache-2.0
// Registers our kinds and webhooks in a cluster. Every replica may run it at every start: older objects are updated,
// newer ones are never downgraded.

import type { MeshNames } from "@merlon/policy/mesh"
import { customResourceDefinitions } from "@merlon/policy/resources"
import type { KubernetesClient } from "../kubernetes/client.js"
import { roleAsOwner } from "../kubernetes/owner-reference.js"
import {
  API_SERVICES,
  CUSTOM_RESOURCE_DEFINITIONS,
  type KubernetesObject,
  SERVICES,
} from "../kubernetes/resource-type.js"
import { pause, SYSTEM_TIME, type Time } from "../kubernetes/time.js"
import { type ApiServiceAddress, apiService, apiServiceName } from "./answer-manifests.js"
import { type Applied, apply } from "./apply.js"
import { componentNames } from "./component-names.js"
import { type Manifest, partOf } from "./manifests.js"
import { type WebhookAddress, webhookManifests } from "./webhook-manifests.js"

export interface InstallOptions {
  readonly client: KubernetesClient
  readonly names: MeshNames
  /** PEM of the authority of the webhook's serving certificate. */
  readonly caBundle: string
  readonly webhook: WebhookAddress
  readonly capture?: "redirect" | "service"
  /** Returns the path to register instead of the plain one. */
  readonly pathOf?: (path: string) => string
  readonly log?: (message: string) => void
  readonly time?: Time
  readonly timeoutMs?: number
}

export type Installed = { readonly [name: string]: Applied | "newer" }

/**
 * Increased with every change of the schemas, so that an older control plane does not overwrite those of a newer one.
 */
export const CRD_VERSION = 3
const TIMEOUT_MS = 60_000
const LOOK_AGAIN_MS = 100

export async function install(options: InstallOptions): Promise<Installed> {
  const definitions = await installDefinitions(options)
  return { ...definitions, ...(await installWebhooks(options)) }
}

/** Installs only the kinds. Resolves once the API serves all of them. */
export async function installDefinitions(
  options: Pick<InstallOptions, "client" | "names" | "log" | "time" | "timeoutMs">,
): Promise<Installed> {
  const { client, names, log } = options
  const { versionAnnotation } = componentNames(names)
  const result: Record<string, Applied | "newer"> = {}
  for (const manifest of definitionManifests(names)) {
    const { name } = manifest.object.metadata
    const existing = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    const theirs = Number(existing?.metadata.annotations?.[versionAnnotation] ?? 0)
    if (theirs > CRD_VERSION) {
      log?.(
        `the kind \`${name}\` is of version ${theirs}, newer than our ${CRD_VERSION}, and was not changed; upgrade this control plane`,
      )
      result[name] = "newer"
    } else {
      // In an apply, the embedded API would treat the schemas inside a CRD as scalars, hence the merge patch. It
      // replaces the list of versions as a whole, and that list is ours.
      result[name] = await apply(client, manifest, "merge")
    }
  }
  await Promise.all(Object.keys(result).map(name => established(options, name)))
  return result
}

/** Call it again whenever the bundle changes. */
export async function installWebhooks(
  options: Pick<InstallOptions, "client" | "names" | "caBundle" | "webhook" | "capture" | "pathOf">,
): Promise<Installed> {
  const { client, names, caBundle, webhook, capture = "redirect", pathOf } = options
  const result: Record<string, Applied> = {}
  const owners = await roleAsOwner(client, componentNames(names).controlPlane)
  for (const manifest of webhookManifests({
    names,
    caBundle,
    address: webhook,
    capture,
    owners,
    ...(pathOf && { pathOf }),
  })) {
    result[manifest.object.metadata.name] = await apply(client, manifest)
  }
  return result
}

/**
 * Registers the address to which the API server forwards queries. It accepts only Services: for a control plane outside
 * the cluster, there is a Service that is an alias of its address.
 */
export async function installAnswers(
  options: Pick<InstallOptions, "client" | "names" | "caBundle" | "webhook">,
): Promise<Applied> {
  const { client, names, caBundle, webhook } = options
  const { controlPlane: name } = componentNames(names)
  const owners = await roleAsOwner(client, name)
  const register = (service: ApiServiceAddress): Promise<Applied> =>
    apply(client, { type: API_SERVICES, object: apiService(names, service, { caBundle, owners }) })
  if ("service" in webhook) return register(webhook.service)
  const { hostname, port } = new URL(webhook.url)
  const namespace = names.rootNamespace
  const externalName = hostname.replace(/^\[|\]$/g, "")
  await apply(client, {
    type: SERVICES,
    object: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels: partOf(names) },
      spec: { type: "ExternalName", externalName },
    },
  })
  return register({ namespace, name, port: Number(port) || 443 })
}

/**
 * Removes the APIService when no server is left: while an API is unavailable, Kubernetes cannot delete any namespace.
 */
export function withdrawAnswers({ client, names }: Pick<InstallOptions, "client" | "names">): Promise<boolean> {
  return client.delete(API_SERVICES, apiServiceName(names))
}

export function definitionManifests(names: MeshNames): readonly Manifest[] {
  const { versionAnnotation } = componentNames(names)
  return customResourceDefinitions(names).map(definition => ({
    type: CUSTOM_RESOURCE_DEFINITIONS,
    object: {
      ...definition,
      metadata: {
        ...definition.metadata,
        labels: partOf(names),
        annotations: { [versionAnnotation]: String(CRD_VERSION) },
      },
    },
  }))
}

interface Definition extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
  }
}

async function established(
  { client, time = SYSTEM_TIME, timeoutMs = TIMEOUT_MS }: Pick<InstallOptions, "client" | "time" | "timeoutMs">,
  name: string,
): Promise<void> {
  const until = time.monotonic() + timeoutMs
  for (;;) {
    const found = await client.get<Definition>(CUSTOM_RESOURCE_DEFINITIONS, name)
    const condition = (type: string) => found?.status?.conditions?.find(one => one.type === type)
    if (condition("Established")?.status === "True") return
    const accepted = condition("NamesAccepted")
    if (accepted?.status === "False") {
      throw new Error(`the kind \`${name}\` cannot be served: ${accepted.message ?? "its names are taken"}`)
    }
    if (time.monotonic() >= until) {
      throw new Error(
        `the kind \`${name}\` is still not served after ${timeoutMs / 1000} s; see \`kubectl describe crd ${name}\``,
      )
    }
    await pause(time, LOOK_AGAIN_MS)
  }
}
