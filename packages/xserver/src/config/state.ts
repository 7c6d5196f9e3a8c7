// SPDX-License-Identifier: Apache-2.0
// The last good configuration, kept on disk for a proxy that runs from a file.

import { meshConfig, meshNames } from "@merlon/policy/mesh"
import { validate } from "@merlon/policy/resources"
import { readCheckedFile, removePrivateFile, writeCheckedFile } from "@merlon/xds/runtime"
import type { Configuration } from "./configuration.js"

/** The first version had no checksum. */
const VERSION = 2
const NAME = "last-good.json"

/** Throws if it cannot be saved. Then it removes the older one, which is no longer the last good configuration. */
export function saveState(folder: string, configuration: Configuration): void {
  const { mesh, ...rest } = configuration
  const { names, ...settings } = mesh
  const state = { version: VERSION, ...rest, mesh: { ...settings, mesh: names.mesh, domain: names.domain } }
  try {
    writeCheckedFile(folder, NAME, JSON.stringify(state))
  } catch (error) {
    removePrivateFile(folder, NAME)
    throw error
  }
}

/** Undefined if there is none. Throws if the saved state cannot be used: an incomplete state is not used in part. */
export function loadState(folder: string): Configuration | undefined {
  const text = readCheckedFile(folder, NAME)
  if (text === undefined) return undefined
  const { version, mesh, policies, ...rest } = JSON.parse(text)
  if (version !== VERSION) {
    throw new Error(
      `the state in \`${folder}\` has version ${version}, and this program reads version ${VERSION}; remove it to start without saved state`,
    )
  }
  const { mesh: word, domain, ...settings } = mesh
  const names = meshNames({ mesh: word, domain })
  return {
    ...rest,
    tls: rest.tls ?? undefined,
    mesh: meshConfig({ ...settings, names }),
    // Validated again: another version or another program may have written the file.
    policies: policies.map((policy: unknown) => {
      const { document, errors } = validate(policy, names)
      if (document === undefined) throw new Error(`the state in \`${folder}\` is unusable: ${errors[0]?.message}`)
      return document
    }),
  }
}
