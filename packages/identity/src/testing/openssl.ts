// SPDX-License-Identifier: Apache-2.0
// Runs openssl as a second implementation, with files in a temporary folder. Tests that use it have the tag
// `needs/openssl`; if openssl is missing they are skipped, and files read as empty so that their modules still load.

import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface OpensslRun {
  readonly status: number | null
  readonly output: string
  /** Content of a file that a command wrote. */
  readonly written: (file: string) => Buffer
}

/** Runs the commands one after another; the result is the last one's. */
export function openssl(
  files: Readonly<Record<string, string | Uint8Array>>,
  ...commands: readonly string[]
): OpensslRun {
  const folder = mkdtempSync(join(tmpdir(), "openssl-"))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { mode: 0o600 })
    let status: number | null = null
    let output = ""
    let isMissing = false
    for (const command of commands) {
      const run = spawnSync("openssl", command.split(" "), { cwd: folder, encoding: "utf8", timeout: 120_000 })
      status = run.status
      isMissing = run.error !== undefined && "code" in run.error && run.error.code === "ENOENT"
      output = run.stdout + run.stderr
      if (status !== 0) break
    }
    const kept = new Map<string, Buffer>()
    for (const name of commands.flatMap(command =>
      [...command.matchAll(/-(?:out|keyout) (\S+)/g)].map(([, file]) => file),
    )) {
      if (name === undefined) continue
      try {
        kept.set(name, readFileSync(join(folder, name)))
      } catch {
        // The command failed before it wrote the file; its status reports that.
      }
    }
    return {
      status,
      output,
      written: file => {
        const content = kept.get(file)
        if (isMissing) return Buffer.alloc(0)
        if (content === undefined) throw new Error(`openssl wrote no \`${file}\`: ${output}`)
        return content
      },
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
