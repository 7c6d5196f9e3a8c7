// SPDX-License-Identifier: Apache-2.0
// The files of the repository, as git would commit them.

import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

export const readText = (path: string): string => readFileSync(path, "utf8")

/** Tracked files, and new files that are not ignored. */
export function files(...patterns: readonly string[]): readonly string[] {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
  return listed.split("\n").filter(path => path !== "" && existsSync(path))
}

/** TypeScript files that are not generated. */
export function sourceFiles(): readonly string[] {
  return files("*.ts", "*.tsx").filter(path => !path.includes("/generated/"))
}
