// SPDX-License-Identifier: Apache-2.0
// The settings of a cluster's mesh, from its control plane: the same policies have another meaning under other
// settings. A flag overrides a setting, and the answer says so. Missing settings make an answer incomplete.

import { ApiError } from "@merlon/control/kubernetes"
import { type MeshConfig, meshConfig, PATH_NORMALIZATIONS, readProviders } from "@merlon/policy/mesh"
import type { InputLog } from "../answers/inputs.js"
import { istioMeshOf } from "../answers/mesh-of-files.js"
import { givenSettings, type MeshSettings } from "../answers/question-flags.js"
import { CommandError, usageError } from "../exit.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { observedList } from "../observed/answers-api.js"
import type { Session } from "../session.js"

type Settings = Omit<MeshConfig, "names" | "dialect" | "declaredProviders">

const FLAGS: Readonly<Record<Exclude<keyof Settings, "providers">, string>> = {
  trustDomain: "--trust-domain",
  trustDomainAliases: "--trust-domain-alias",
  pathNormalization: "--path-normalization",
  numTrustedProxies: "--trusted-proxies",
}

export async function clusterMesh(
  session: Session,
  flags: MeshSettings,
  log: InputLog,
  note: (text: string) => void,
): Promise<MeshConfig> {
  if (session.dialect === "istio") return istioMeshOf(session, flags, log, note)
  if (flags.meshConfig !== undefined)
    throw usageError("`--mesh-config` is Istio's; the policies of this cluster are not")
  const given = givenSettings(flags)
  const fromCluster = await clusterSettings(session)
  if (typeof fromCluster === "string") {
    const { trustDomain, pathNormalization, numTrustedProxies } = given
    const isSaid = [trustDomain, pathNormalization, numTrustedProxies].every(value => value !== undefined)
    if (!isSaid)
      log.skip(
        `the settings of the mesh: ${fromCluster}; pass --trust-domain, --path-normalization and --trusted-proxies`,
      )
    return meshConfig({ names: session.names, ...given })
  }
  for (const name of Object.keys(FLAGS) as (keyof typeof FLAGS)[]) {
    const [flag, own] = [given[name], fromCluster[name]]
    if (flag === undefined || String(flag) === String(own)) continue
    note(`\`${FLAGS[name]} ${String(flag)}\` instead of the mesh's own, \`${String(own)}\``)
  }
  return { names: session.names, ...fromCluster, ...given }
}

/** The control plane's settings, or the reason why they are missing. */
async function clusterSettings(session: Session): Promise<Settings | string> {
  try {
    const query = new URLSearchParams({ limit: "1" })
    const { notes } = await observedList(session, { resource: "proxies", namespace: session.namespace, query })
    return settingsIn(fieldsOf(notes.controlPlane).settings)
  } catch (error) {
    if (error instanceof CommandError || error instanceof ApiError) return error.message
    throw error
  }
}

function settingsIn(value: unknown): Settings | string {
  const { trustDomain, trustDomainAliases, pathNormalization, numTrustedProxies, providers } = fieldsOf(value)
  if (typeof trustDomain !== "string" || typeof numTrustedProxies !== "number") {
    return "the control plane does not tell them; it may be of an older version"
  }
  const normalization = PATH_NORMALIZATIONS.find(mode => mode === pathNormalization)
  if (normalization === undefined) {
    return `the path normalization \`${String(pathNormalization)}\` is not known here; use merlonctl of the control plane's version`
  }
  const read = providersIn(providers)
  if (typeof read === "string") return read
  const aliases = listOf(trustDomainAliases).flatMap(one => textOf(one) ?? [])
  return {
    trustDomain,
    trustDomainAliases: aliases,
    pathNormalization: normalization,
    numTrustedProxies,
    providers: read,
  }
}

function providersIn(value: unknown): Settings["providers"] | string {
  try {
    return readProviders(value, "providers")
  } catch {
    return "its providers cannot be read here; use merlonctl of the control plane's version"
  }
}
