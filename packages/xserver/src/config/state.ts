// SPDX-License-Identifier: Apache-2.0
// The last configuration that was good, kept on disk with the key in it readable by its owner only. It is written to a
// new file and renamed into place, so that a crash leaves either the old one or the new one.

import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { meshConfig, meshNames, validate } from "@merlon/policy"
import type { Configuration } from "./configuration.js"

const VERSION = 1
const NAME = "last-good.json"

export function saveState(folder: string, configuration: Configuration): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { mesh, ...rest } = configuration
  const { names, ...settings } = mesh
  const state = { version: VERSION, ...rest, mesh: { ...settings, mesh: names.mesh, domain: names.domain } }
  const temporary = join(folder, `${NAME}.${process.pid}.new`)
  // Made anew, never taken over: what lies there may be readable by others, or a link to somewhere else.
  rmSync(temporary, { force: true })
  const file = openSync(temporary, "wx", 0o600)
  try {
    writeFileSync(file, JSON.stringify(state))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, join(folder, NAME))
}

/** Undefined where there is none. Throws where there is one that cannot be used: half a state is no state. */
export function loadState(folder: string): Configuration | undefined {
  let text: string
  try {
    text = readFileSync(join(folder, NAME), "utf8")
  } catch {
    return undefined
  }
  const { version, mesh, policies, ...rest } = JSON.parse(text)
  if (version !== VERSION) {
    throw new Error(
      `the state in \`${folder}\` has version ${version}, this program reads ${VERSION}; remove it to start anew`,
    )
  }
  const { mesh: word, domain, ...settings } = mesh
  const names = meshNames({ mesh: word, domain })
  return {
    ...rest,
    tls: rest.tls ?? undefined,
    mesh: meshConfig({ ...settings, names }),
    // Read anew by the validator: the file may have been written by another version, or by somebody else.
    policies: policies.map((policy: unknown) => {
      const { document, faults } = validate(policy, names)
      if (document === undefined) throw new Error(`the state in \`${folder}\` is unusable: ${faults[0]?.message}`)
      return document
    }),
  }
}
