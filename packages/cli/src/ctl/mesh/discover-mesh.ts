// SPDX-License-Identifier: Apache-2.0
// Finds the mesh of a cluster by its API discovery, which every user may read: the policies' API group contains the
// domain, their categories the mesh's name. A flag or an environment variable wins; several meshes are an error that
// names them.

import { type Api, ApiError } from "@merlon/control/kubernetes"
import { type MeshNames, meshNames } from "@merlon/policy/mesh"
import { CommandError, usageError } from "../exit.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { visible } from "../terminal.js"

export interface MeshFlags {
  readonly mesh: string
  readonly domain: string
}

export interface DiscoveredMesh {
  readonly names: MeshNames
  /** False if the cluster serves no policies of any mesh. Unknown, and assumed to be true, if flags name the mesh. */
  readonly installed: boolean
}

/** Discovers what `--mesh`, `--domain` and their environment variables do not set. */
export async function discoverMesh(api: Api, given: Partial<MeshFlags>): Promise<DiscoveredMesh> {
  const { mesh, domain } = given
  if (mesh !== undefined && domain !== undefined) return { names: meshNames({ mesh, domain }), installed: true }
  const all = await installedMeshes(api)
  const found = all.filter(one => one.mesh === (mesh ?? one.mesh) && one.domain === (domain ?? one.domain))
  const [first, ...others] = found
  if (first === undefined) return { names: meshNames({ ...given }), installed: false }
  if (others.length === 0) return { names: meshNames(first), installed: true }
  throw usageError(
    `the cluster has several meshes: ${printMeshes(found)}; choose one with \`--mesh ${first.mesh} --domain ${first.domain}\``,
  )
}

export function printMeshes(meshes: readonly MeshFlags[]): string {
  return meshes.map(({ mesh, domain }) => `\`${mesh}\` (${domain})`).join(", ")
}

const SECURITY = "security."

export async function installedMeshes(api: Api): Promise<readonly MeshFlags[]> {
  const { groups } = fieldsOf(await discovered(api, "/apis"))
  const candidates = listOf(groups).flatMap(item => {
    const { name, preferredVersion } = fieldsOf(item)
    const [group, version] = [textOf(name), textOf(fieldsOf(preferredVersion).version)]
    return group?.startsWith(SECURITY) === true && version !== undefined ? [{ group, version }] : []
  })
  const found = await Promise.all(
    candidates.map(async ({ group, version }) => {
      const { resources } = fieldsOf(await discovered(api, `/apis/${group}/${version}`))
      return wordsIn(group.slice(SECURITY.length), listOf(resources))
    }),
  )
  return found.flatMap(words => words ?? []).sort((a, b) => (a.domain < b.domain ? -1 : 1))
}

/**
 * The mesh's name and domain, if our definitions are installed: they have the categories `<mesh>` and `<mesh>-policy`,
 * which other vendors' groups lack.
 */
function wordsIn(domain: string, resources: readonly unknown[]): MeshFlags | undefined {
  const policies = resources.map(fieldsOf).find(({ name }) => name === "authorizationpolicies")
  const categories = listOf(policies?.categories).flatMap(one => textOf(one) ?? [])
  const mesh = categories.find(word => categories.includes(`${word}-policy`))
  if (mesh === undefined) return undefined
  try {
    meshNames({ mesh, domain })
    return { mesh, domain }
  } catch {
    return undefined
  }
}

async function discovered(api: Api, path: string): Promise<unknown> {
  try {
    return await api.request({ method: "GET", path })
  } catch (error) {
    // A server without API groups has no mesh.
    if (error instanceof ApiError && error.code === 404) return {}
    if (error instanceof ApiError && error.code === 403) {
      throw new CommandError(
        "forbidden",
        `${visible(error.message)}; pass \`--mesh\` and \`--domain\`, because API discovery is forbidden`,
      )
    }
    throw error
  }
}
