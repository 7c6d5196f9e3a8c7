// SPDX-License-Identifier: Apache-2.0
// `merlonctl uninstall`: removes an installation, webhooks first, so that Pods can start at any moment. Policies stay
// unless a flag removes them with their kinds.

import { componentNames, definitionManifests, installManifests } from "@merlon/control/install"
import { ApiError } from "@merlon/control/kubernetes"
import { Command } from "commander"
import { pathOf } from "../api/path.js"
import { type AnyObject, kindName, type Resource } from "../catalog/resource.js"
import { withSession } from "../connect.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { fieldsOf, listOf } from "../foreign.js"
import { findInstalled, rejectHelmRelease } from "../install/installed.js"
import { restoredPorts } from "../install/restore-service.js"
import { valuesOf } from "../install/values-flags.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly crds: boolean
  readonly keepNamespace: boolean
  readonly services: boolean
}

const LOOK_AGAIN_MS = 300
const WEBHOOK_GOES_MS = 60_000

export function uninstallCommand(): Command {
  return withClusterFlags(new Command("uninstall").description("Uninstall the control plane from a cluster"))
    .option("--crds", "also delete the CRDs, and with them every policy", false)
    .option("--keep-namespace", "keep the namespace and the mesh's root key in it", false)
    .option("--services", "only restore captured Services, after the control plane is gone", false)
    .addHelpText("after", "\nExamples:\n  merlonctl uninstall\n  merlonctl uninstall --crds --keep-namespace")
    .action((flags: Flags) => withSession(flags, session => run(session, flags)))
}

async function run(session: Session, flags: Flags): Promise<void> {
  if (flags.services) {
    // The chart's last hook runs this. Tools that apply a rendered chart run its hooks as plain objects, at the beginning.
    if (await hasControlPlane(session)) print("nothing to do: the control plane is installed, and would capture again")
    else await restoreServices(session)
    return
  }
  rejectHelmRelease(await findInstalled(session), session, "uninstall")
  const { mesh, domain } = session.names
  // All objects that any values could have created, because the values are unknown.
  const objects = installManifests(valuesOf([{ mesh, domain, dashboards: { enabled: true } }]))
  // Reverse order of creation: the webhooks first, the namespace last.
  for (const object of [...objects].reverse()) {
    if (object.kind === "Namespace") continue
    await remove(session, await session.catalog.ofDocument(object.apiVersion, object.kind), object.metadata)
  }
  await restoreServices(session)
  await removeAuthorizers(session)
  await removeEverywhere(session, "networking.k8s.io/v1", "NetworkPolicy", `app.kubernetes.io/part-of=${mesh}`)
  await removeBundles(session)
  if (flags.crds) {
    for (const { object } of definitionManifests(session.names)) {
      await remove(session, await session.catalog.ofDocument(object.apiVersion, object.kind), object.metadata)
    }
  }
  if (flags.keepNamespace) return
  const namespaces = await session.catalog.ofDocument("v1", "Namespace")
  const name = session.names.rootNamespace
  await remove(session, namespaces, { name })
  await gone(session, pathOf(namespaces, { name }))
}

/** A policy that is being deleted counts as gone. */
async function hasControlPlane(session: Session): Promise<boolean> {
  const deployments = await session.catalog.ofDocument("apps/v1", "Deployment")
  const { rootNamespace: namespace } = session.names
  try {
    const path = pathOf(deployments, { name: componentNames(session.names).controlPlane, namespace })
    const { metadata } = fieldsOf(await session.api.request({ method: "GET", path }))
    return fieldsOf(metadata).deletionTimestamp === undefined
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return false
    throw error
  }
}

interface Named {
  readonly name: string
  readonly namespace?: string
}

async function remove(session: Session, resource: Resource, { name, namespace }: Named): Promise<void> {
  try {
    const path = pathOf(resource, { name, namespace })
    await session.api.request({ method: "DELETE", path, body: { propagationPolicy: "Background" } })
    print(`${kindName(resource)}/${name} deleted`)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error
  }
}

async function list(session: Session, resource: Resource, labelSelector?: string): Promise<readonly AnyObject[]> {
  const path = pathOf(resource, {}, { labelSelector })
  return listOf(fieldsOf(await session.api.request({ method: "GET", path })).items) as readonly AnyObject[] // the items of a list
}

async function removeEverywhere(session: Session, apiVersion: string, kind: string, labels: string): Promise<void> {
  const resource = await session.catalog.ofDocument(apiVersion, kind)
  for (const { metadata } of await list(session, resource, labels)) await remove(session, resource, metadata)
}

/** Authorizers may be in any namespace: their policies are there. */
async function removeAuthorizers(session: Session): Promise<void> {
  const { mesh } = session.names
  const labels = `app.kubernetes.io/part-of=${mesh},app.kubernetes.io/name=${componentNames(session.names).authorizer}`
  await removeEverywhere(session, "apps/v1", "Deployment", labels)
  await removeEverywhere(session, "v1", "Service", labels)
  await removeEverywhere(session, "v1", "ServiceAccount", labels)
}

/** Removes the root certificates that the control plane wrote to every namespace. */
async function removeBundles(session: Session): Promise<void> {
  const name = componentNames(session.names).trustBundle
  const configMaps = await session.catalog.ofDocument("v1", "ConfigMap")
  const namespaces = await session.catalog.ofDocument("v1", "Namespace")
  for (const { metadata } of await list(session, namespaces)) {
    await remove(session, configMaps, { name, namespace: metadata.name })
  }
}

/** Restores Services that capture pointed at xserver, which new Pods will not have. */
async function restoreServices(session: Session): Promise<void> {
  const services = await session.catalog.ofDocument("v1", "Service")
  for (const object of await list(session, services)) {
    const body = restoredPorts(object, session.names)
    if (body === undefined) continue
    const { name, namespace } = object.metadata
    const path = pathOf(services, { name, namespace })
    await patiently(() =>
      session.api.request({ method: "PATCH", path, body, contentType: "application/json-patch+json" }),
    )
    print(`service/${name} leads to its application again`)
  }
}

/** Retries while the API server still calls the webhook of a control plane that has just been removed. */
async function patiently(request: () => Promise<unknown>): Promise<void> {
  const until = Date.now() + WEBHOOK_GOES_MS
  for (;;) {
    try {
      await request()
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 500 || Date.now() > until) throw error
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

async function gone(session: Session, path: string): Promise<void> {
  for (;;) {
    try {
      await session.api.request({ method: "GET", path })
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return
      throw error
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}
