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
  /** In the format of `merlond xserver`. */
  readonly probe?: object
}

/** The fields of `merlond xserver --bootstrap`. */
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

/** Checks that all files of a proxy can be written. A later failure would have used up a single-use invitation. */
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
  // Each file is replaced: an old one may be readable by others, or be a symlink. Other users must not be able to
  // change which control plane the proxy trusts either.
  for (const [name, text] of [
    ["token", token],
    ["root.pem", trustBundle],
    [BOOTSTRAP, bootstrap],
  ] as const) {
    writePrivateFile(folder, name, text)
  }
  return join(folder, BOOTSTRAP)
}
