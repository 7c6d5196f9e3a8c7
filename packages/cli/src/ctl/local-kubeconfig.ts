// SPDX-License-Identifier: Apache-2.0
// The kubeconfig of the local mesh, found from anywhere below the folder it was started in.

import { statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

const PLACE = join(".merlon", "kubeconfig")

/**
 * Only a file of one's own counts. A kubeconfig may name a program to run, and above a shared folder anybody could have
 * left one.
 */
export function localKubeconfig(from: string, uid = process.getuid?.()): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, PLACE)
    const found = statSync(file, { throwIfNoEntry: false })
    if (found?.isFile() === true && (uid === undefined || found.uid === uid)) return file
    if (dirname(folder) === folder) return undefined
  }
}
