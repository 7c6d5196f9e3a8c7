// SPDX-License-Identifier: Apache-2.0
// What a mesh member keeps on disk: the enforced resources, and in a separate file its key and certificate. With them a
// proxy starts while the control plane is down, and later requests only what it lacks. INVARIANT: the versions that it
// then reports are computed from the contents, never read from disk.

import { decodeProxyResource, resourceVersion } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"
import { readCheckedFile, readPrivateFile, removePrivateFile, writeCheckedFile } from "@merlon/xds/runtime"
import type { VersionedResource } from "@merlon/xds/server"
import { HeldResources } from "./held-resources.js"

const VERSION = 2
const NAME = "mesh-state.json"
const CREDENTIALS_NAME = "credentials.json"

export interface SavedState {
  readonly held: HeldResources
  /** When the resources were received, by the wall clock. */
  readonly since: number
  readonly credentials: WorkloadCredentials | undefined
}

export function keepState(folder: string, { held, since, credentials }: SavedState): void {
  if (credentials !== undefined) keepCredentials(folder, credentials)
  const resources = held.resources.map(({ name, value }) => ({ name, value: Buffer.from(value).toString("base64") }))
  writeCheckedFile(folder, NAME, JSON.stringify({ version: VERSION, revision: held.revision, since, resources }))
}

/** Called for state that could not be replaced: after a restart it would be enforced instead of the current one. */
export function removeState(folder: string): void {
  // Only the credentials of the first version are ever used again, and they may exist nowhere else.
  if (!isFirstVersion(readPrivateFile(folder, NAME))) removePrivateFile(folder, NAME)
}

/** Undefined if there is none. Throws if it cannot be used: an incomplete state is not used in part. */
export function savedState(folder: string): Omit<SavedState, "credentials"> | undefined {
  // The first version has no checksum, so it cannot be verified.
  if (isFirstVersion(readPrivateFile(folder, NAME))) return undefined
  const text = readCheckedFile(folder, NAME)
  if (text === undefined) return undefined
  const { version, revision, since, resources } = JSON.parse(text)
  if (version !== VERSION) {
    throw new Error(
      `the state in \`${folder}\` has version ${version}, and this program reads version ${VERSION}; remove it to start without saved state`,
    )
  }
  const stored: readonly { name: string; value: string }[] = resources
  const read = stored.map((each): VersionedResource => {
    const value = Buffer.from(each.value, "base64")
    return { name: each.name, version: resourceVersion(decodeProxyResource(value)), value }
  })
  const held = HeldResources.none.with({ revision, resources: read, removed: [] })
  return { held, since: typeof since === "number" ? since : 0 }
}

/** Undefined if there are none. Throws if they cannot be used. */
export function savedCredentials(folder: string): WorkloadCredentials | undefined {
  const text = readCheckedFile(folder, CREDENTIALS_NAME)
  if (text !== undefined) return JSON.parse(text)
  const state = readPrivateFile(folder, NAME)
  if (state === undefined || !isFirstVersion(state)) return undefined
  // Releases up to 0.1 stored the credentials as `papers`.
  const { papers, credentials = papers } = JSON.parse(state)
  return credentials ?? undefined
}

export function keepCredentials(folder: string, credentials: WorkloadCredentials): void {
  const text = JSON.stringify(credentials)
  if (unlessDamaged(() => readCheckedFile(folder, CREDENTIALS_NAME)) !== text)
    writeCheckedFile(folder, CREDENTIALS_NAME, text)
}

function unlessDamaged(read: () => string | undefined): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const isFirstVersion = (text: string | undefined): boolean => text?.startsWith("{") === true
