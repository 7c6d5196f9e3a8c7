// SPDX-License-Identifier: Apache-2.0
// A native library inside an executable. The system loads such code only from files, so it is written to a private
// folder, loaded, and removed.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { getRawAsset } from "node:sea"

export function loadAddon(asset: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "merlon-addon-"))
  const file = join(folder, asset)
  try {
    writeFileSync(file, Buffer.from(getRawAsset(asset) as ArrayBuffer), { mode: 0o500 }) // as documented
    return createRequire(file)(file)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(
      `the library ${asset} cannot be loaded from \`${folder}\`: ${why}; set TMPDIR to a folder that may hold programs`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
