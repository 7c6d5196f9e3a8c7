// SPDX-License-Identifier: Apache-2.0
// The files that a proxy needs to run as a declared workload, in one folder. The token is as sensitive as a password.

import { mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { MeshNames } from "@merlon/policy/mesh"
import { writePrivateFile } from "@merlon/xds/runtime"
import { stringify } from "yaml"
import { CommandError } from "../exit.js"
import type { Declaration } from "./declared-pod.js"

const BOOTSTRAP = "bootstrap.yaml"
const ROOM = "room"
const ROOM_BYTES = 64 * 1024

export interface ProxyPlace {
  readonly controlPlane: string
  readonly serverName?: string
  readonly address?: string
  readonly listen?: string
  readonly application?: string
  readonly admin?: string
  readonly health?: string
  /** As `merlond xserver` reads it. */
  readonly probe?: object
}

/** The fields are those that `merlond xserver --bootstrap` reads. */
export function bootstrapText(
  { name, namespace, serviceAccount }: Declaration,
  { controlPlane, serverName, address, listen, application, admin, health, probe }: ProxyPlace,
  { mesh, domain }: MeshNames,
): string {
  return stringify({
    mesh: { name: mesh, domain },
    controlPlane: { address: controlPlane, ...(serverName === undefined ? {} : { serverName }) },
    workload: { namespace, name, serviceAccount },
    trustBundle: "root.pem",
    token: "token",
    ...(address === undefined ? {} : { address }),
    ...(listen === undefined ? {} : { listen }),
    ...(application === undefined ? {} : { application }),
    ...(admin === undefined ? {} : { admin }),
    ...(health === undefined ? {} : { health }),
    ...(probe === undefined ? {} : { probe }),
    state: "state",
  })
}

export function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new CommandError("unwritable-file", `cannot make the folder \`${folder}\`: ${(error as Error).message}`)
  }
}

/**
 * Checks for all files that a proxy starts from. A later failure would have used up an invitation that works only once.
 */
export function checkRoom(folder: string): void {
  const state = join(folder, "state")
  try {
    writePrivateFile(state, ROOM, " ".repeat(ROOM_BYTES))
    rmSync(join(state, ROOM))
    if (readdirSync(state).length === 0) rmdirSync(state)
  } catch (error) {
    throw new CommandError(
      "unwritable-file",
      `cannot write to the folder \`${folder}\`: ${(error as Error).message}; make room or choose another, then the same again`,
    )
  }
}

/** Returns the path of the bootstrap file. */
export function writeBootstrap(folder: string, bootstrap: string, token: string, trustBundle: string): string {
  // Each replaces the existing file: an old file may be readable by others, or a link to another place. No other user
  // may choose whom the proxy trusts either.
  for (const [name, text] of [
    ["token", token],
    ["root.pem", trustBundle],
    [BOOTSTRAP, bootstrap],
  ] as const) {
    writePrivateFile(folder, name, text)
  }
  return join(folder, BOOTSTRAP)
}
