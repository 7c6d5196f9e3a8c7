// SPDX-License-Identifier: Apache-2.0
// Completes package-lock.json after `npm install`. With a registry that mirrors only some platforms, npm leaves the
// other platforms' optional packages out of the lock, and then `npm ci` rejects it. This script adds them with the
// platforms in their names: npm installs them where they match and skips them elsewhere.

import { readFileSync, writeFileSync } from "node:fs"
import { missingOptionals, type PackageLock } from "../test/architecture/lock-file.js"

const FILE = "package-lock.json"
const lock: PackageLock = JSON.parse(readFileSync(FILE, "utf8"))

for (const { name, version, dev } of missingOptionals(lock)) {
  lock.packages[`node_modules/${name}`] = { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) }
  console.log(`entered ${name}@${version}`)
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"))
writeFileSync(FILE, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, undefined, 2)}\n`)

function platformOf(name: string): { os?: string[]; cpu?: string[]; libc?: string[] } {
  const os = /(android|darwin|freebsd|linux|openharmony|win32)/.exec(name)?.[1]
  const cpu = /-(arm64|arm|ia32|ppc64|riscv64|s390x|wasm32|x64)/.exec(name)?.[1]
  const libc = name.includes("musl") ? "musl" : os === "linux" ? "glibc" : undefined
  return {
    ...(os === undefined ? {} : { os: [os] }),
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(libc === undefined ? {} : { libc: [libc] }),
  }
}
