// SPDX-License-Identifier: Apache-2.0
// The version that an upgrade starts from: the commit in MERLON_BEFORE, otherwise the newest tag. It is built once from
// its own sources, in a folder that later runs reuse.

import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface VersionBefore {
  readonly chart: string
  readonly archive: string
  readonly image: string
}

export const TAG = "before"

/** Returns undefined if there is no release and no commit is given. */
export function versionBefore(architecture: string): VersionBefore | undefined {
  const commit = commitBefore()
  if (commit === undefined) return undefined
  const folder = join(tmpdir(), `merlon-${TAG}-${commit.slice(0, 12)}`)
  const archive = join(folder, "dist", `merlon-${TAG}.tar`)
  if (!existsSync(archive)) build(commit, folder, architecture)
  return { chart: join(folder, "deploy/helm/merlon"), archive, image: `merlon:${TAG}` }
}

function commitBefore(): string | undefined {
  const named = process.env.MERLON_BEFORE ?? git("tag", "--list", "v*", "--sort=-creatordate").split("\n")[0] ?? ""
  return named === "" ? undefined : git("rev-parse", "--verify", `${named}^{commit}`)
}

function build(commit: string, folder: string, architecture: string): void {
  if (!existsSync(folder)) git("worktree", "add", "--detach", folder, commit)
  const run = (...words: readonly string[]): void => {
    execFileSync(words[0] ?? "", words.slice(1), { cwd: folder, stdio: ["ignore", "inherit", "inherit"] })
  }
  run("npm", "ci", "--ignore-scripts")
  run("npm", "run", "build")
  run("npx", "tsx", "scripts/image.ts", "--architecture", architecture, "--tag", TAG)
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { encoding: "utf8" }).trim()
}
