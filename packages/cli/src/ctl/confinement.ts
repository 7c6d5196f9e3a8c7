// SPDX-License-Identifier: Apache-2.0
// Which files and clusters a query may read. A user who types a command may name any. A program that asks on behalf of a
// user is confined to folders, symlinks out of them are not followed, and the cluster is used only if allowed.

import { realpath } from "node:fs/promises"
import { isAbsolute, relative, resolve, sep } from "node:path"
import { CommandError } from "./exit.js"

export interface Confinement {
  /** Real paths of the folders that may be read. */
  readonly roots: readonly string[]
  readonly cluster: boolean
}

let confined: Confinement | undefined

/** Confines the rest of this thread; undefined removes the confinement. */
export function confine(to: Confinement | undefined): void {
  confined = to
}

/** Throws if the path or its symlink target is outside. A path that does not exist is checked by its name. */
export async function checkInBounds(path: string): Promise<void> {
  if (confined === undefined) return
  const real = await realpath(path).catch(() => resolve(path))
  if (!isInside(real, confined.roots)) throw outside(path)
}

/** The same check for a path that is not on this machine's disk, such as one in a git revision. */
export function checkNameInBounds(path: string): void {
  if (confined !== undefined && !isInside(resolve(path), confined.roots)) throw outside(path)
}

export function checkCluster(): void {
  if (confined?.cluster === false)
    throw new CommandError(
      "no-cluster",
      "this server answers about files only; start it with `--cluster` for the cluster",
    )
}

function isInside(path: string, folders: readonly string[]): boolean {
  return folders.some(folder => {
    const way = relative(folder, path)
    return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)
  })
}

function outside(path: string): CommandError {
  return new CommandError(
    "outside-roots",
    `\`${path}\` is outside of the folders that this server may read; start it with \`--root\` to add one`,
  )
}
