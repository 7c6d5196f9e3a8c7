// SPDX-License-Identifier: Apache-2.0
// One executable file per system: Node's binary with our programs inside, as a Node single executable application.
// Node's binaries are downloaded from the package registry, pinned by digest.

import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import {
  bundleProofThread,
  bundleQuestionThread,
  bundleScript,
  KOFFI_ASSET,
  PROOF_THREAD_ASSET,
  QUESTION_THREAD_ASSET,
  STORE_ASSET,
  storeBinary,
} from "./bundling.js"
import { koffiBinary } from "./koffi-files.js"

export type Arch = "x64" | "arm64"

const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2"
const CACHE = "node_modules/.cache/merlon-release"
const NODE_VERSION = "24.21.0"
/** Of the program itself, not of the package that contains it. */
const NODE_SHA256: Readonly<Record<Arch, string>> = {
  x64: "7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c",
  arm64: "0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584",
}

/** Node's program for a system, from the registry or the cache. */
export function nodeProgram(arch: Arch): string {
  const file = join(CACHE, `node-${NODE_VERSION}-linux-${arch}`)
  if (!existsSync(file)) {
    const folder = mkdtempSync(join(tmpdir(), "merlon-node-"))
    try {
      const name = `node-linux-${arch}@${NODE_VERSION}`
      const [packed = ""] = execFileSync("npm", ["pack", "--silent", name], { cwd: folder, encoding: "utf8" }).split(
        "\n",
      )
      execFileSync("tar", ["-xzf", packed], { cwd: folder })
      mkdirSync(CACHE, { recursive: true })
      copyFileSync(join(folder, "package", "bin", "node"), file)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const digest = createHash("sha256").update(readFileSync(file)).digest("hex")
  if (digest !== NODE_SHA256[arch]) {
    rmSync(file)
    throw new Error(`Node ${NODE_VERSION} for ${arch} is not the one we know: its digest is ${digest}`)
  }
  return file
}

export interface ExecutableRequest {
  readonly arch: Arch
  /** Node's program, into which ours is injected. */
  readonly node: string
  /** The same version of Node as a program for this machine. */
  readonly maker: string
  readonly out: string
}

export async function makeExecutable({ arch, node, maker, out }: ExecutableRequest): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "merlon-executable-"))
  try {
    const script = join(folder, "merlon.cjs")
    const blob = join(folder, "merlon.blob")
    const config = join(folder, "sea.json")
    await bundleScript(script)
    await bundleProofThread(join(folder, PROOF_THREAD_ASSET))
    await bundleQuestionThread(join(folder, QUESTION_THREAD_ASSET))
    const assets = {
      [STORE_ASSET]: resolve(storeBinary(arch)),
      [KOFFI_ASSET]: resolve(koffiBinary(arch).file),
      [PROOF_THREAD_ASSET]: PROOF_THREAD_ASSET,
      [QUESTION_THREAD_ASSET]: QUESTION_THREAD_ASSET,
    }
    // Only names: a path would be written into the executable, and it differs each time.
    const settings = {
      main: "merlon.cjs",
      output: "merlon.blob",
      disableExperimentalSEAWarning: true,
      assets,
    }
    writeFileSync(config, JSON.stringify(settings))
    execFileSync(resolve(maker), ["--experimental-sea-config", config], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    })
    copyFileSync(node, out)
    chmodSync(out, 0o755)
    // Loaded only here: most users of this module create no executable, and loading it took a fifth of their time.
    const { inject } = await import("postject")
    await inject(out, "NODE_SEA_BLOB", readFileSync(blob), { sentinelFuse: FUSE })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
