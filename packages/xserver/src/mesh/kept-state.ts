// SPDX-License-Identifier: Apache-2.0
// What a member of a mesh keeps on disk: the resources in force, its key and certificate. With it a proxy starts while
// the control plane is away, and asks for nothing it already has when the control plane is back.

import { readPrivateFile, type VersionedResource, type WorkloadCredentials, writePrivateFile } from "@merlon/xds"
import { HeldResources } from "./held-resources.js"

const VERSION = 1
const NAME = "mesh-state.json"

export interface KeptState {
  readonly held: HeldResources
  /** When the resources came, by the wall clock. */
  readonly since: number
  readonly credentials: WorkloadCredentials | undefined
}

export function keepState(folder: string, { held, since, credentials }: KeptState): void {
  const resources = held.resources.map(({ name, version, value }) => ({
    name,
    version,
    value: Buffer.from(value).toString("base64"),
  }))
  writePrivateFile(
    folder,
    NAME,
    JSON.stringify({ version: VERSION, revision: held.revision, since, resources, credentials }),
  )
}

/** Undefined where there is none. Throws where there is one that cannot be used: half a state is no state. */
export function keptState(folder: string): KeptState | undefined {
  const text = readPrivateFile(folder, NAME)
  if (text === undefined) return undefined
  // Releases up to 0.1 called the credentials papers.
  const { version, revision, since, resources, papers, credentials = papers } = JSON.parse(text)
  if (version !== VERSION) {
    throw new Error(
      `the state in \`${folder}\` has version ${version}, this program reads ${VERSION}; remove it to start anew`,
    )
  }
  const stored: readonly { name: string; version: string; value: string }[] = resources
  const read = stored.map(
    ({ name, version, value }): VersionedResource => ({
      name,
      version,
      value: Buffer.from(value, "base64"),
    }),
  )
  const held = HeldResources.none.with({ revision, resources: read, removed: [] })
  return { held, since: typeof since === "number" ? since : 0, credentials: credentials ?? undefined }
}

/** A key and a certificate before anything has come to enforce, for whoever joins without a token of its own. */
export function keepCredentials(folder: string, credentials: WorkloadCredentials): void {
  keepState(folder, { held: HeldResources.none, since: 0, credentials })
}
