// SPDX-License-Identifier: Apache-2.0
// Finds the kubeconfig of the local mesh: in the given data folder, else in the current folder or one above it.

import { lstatSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

const PLACE = join(".merlon", "kubeconfig")

/** The kubeconfig of a named mesh. If it has none, no other cluster is used instead. */
export function namedKubeconfig(data: string | undefined): string | undefined {
  return data === undefined || data === "" ? undefined : resolve(data, "kubeconfig")
}

/**
 * Only a file that the user owns counts. A kubeconfig may name a program to run, and in a shared parent folder any user
 * could have left one, or a link to one of the user's own that means another cluster.
 */
export function localKubeconfig(from: string, uid = process.getuid?.()): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, PLACE)
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.isFile() === true && (uid === undefined || (found.uid === uid && isOwnWay(folder, uid)))) return file
    if (dirname(folder) === folder) return undefined
  }
}

function isOwnWay(folder: string, uid: number): boolean {
  return [join(folder, ".merlon"), join(folder, PLACE)].every(step => lstatSync(step).uid === uid)
}
