// SPDX-License-Identifier: Apache-2.0
// An intermediate authority, made with openssl as operators do. Tests that use it have the tag `needs/openssl`. Without
// openssl they are skipped, and the root is used instead so that their modules still load.

import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { AuthorityKeys } from "@merlon/identity"

const EXTENSIONS =
  "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n"
let made = 0

/** Valid for the year after `now`, or after the real time if that is later. */
export function intermediate(root: AuthorityKeys, now: number): AuthorityKeys {
  if (spawnSync("openssl", ["version"]).status !== 0) return root
  const folder = mkdtempSync(join(tmpdir(), "intermediate-"))
  try {
    const days = String(365 + Math.max(0, Math.ceil((now - Date.now()) / 86_400_000)))
    const openssl = (...args: readonly string[]): void => {
      execFileSync("openssl", args, { cwd: folder, stdio: "pipe" })
    }
    writeFileSync(join(folder, "root"), root.root)
    writeFileSync(join(folder, "rootkey"), root.privateKey, { mode: 0o600 })
    writeFileSync(join(folder, "ext"), EXTENSIONS)
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key"]
    openssl("req", "-new", ...key, "-subj", `/CN=issuing ${++made}`, "-out", "csr")
    const signing = ["-CA", "root", "-CAkey", "rootkey", "-set_serial", String(1000 + made), "-extfile", "ext"]
    openssl("x509", "-req", "-in", "csr", ...signing, "-days", days, "-out", "cert")
    return {
      certificateChain: readFileSync(join(folder, "cert"), "utf8"),
      privateKey: readFileSync(join(folder, "key"), "utf8"),
      root: root.root,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
