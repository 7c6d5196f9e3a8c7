// SPDX-License-Identifier: Apache-2.0
// Common tasks of a new user as shell scripts, run in the order of their names on one mesh without policies.

import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import type { Merlonctl } from "../e2e/local/support/merlonctl.js"

const JOURNEYS = readdirSync("test/journeys").filter(name => name.endsWith(".sh"))
const COMMON = `status() { curl --silent --output /dev/null --write-out '%{http_code}' "$@"; }\n`

export function journeys(mesh: Merlonctl): void {
  describe("a new user", { tags: ["needs/bash", "needs/curl"] }, () => {
    const folder = mkdtempSync(join(tmpdir(), "journeys-"))
    const bin = join(folder, "bin")
    let env: NodeJS.ProcessEnv

    beforeAll(async () => {
      mkdirSync(bin)
      for (const program of ["merlonctl", "merlond"]) {
        const path = join(bin, program)
        writeFileSync(path, `#!/bin/sh\nexec node "${resolve(`packages/cli/bin/${program}.js`)}" "$@"\n`)
        chmodSync(path, 0o755)
      }
      env = {
        PATH: `${bin}:${process.env.PATH ?? ""}`,
        HOME: folder,
        MERLON_DATA: mesh.data,
        KUBECONFIG: join(mesh.data, "kubeconfig"),
        SCRATCH: folder,
        HTTPBIN: mesh.exposed("httpbin.foo", ""),
        WEB: mesh.exposed("web.app", ""),
        MESH: `127.0.0.1:${mesh.record.ports.mesh}`,
        PORT: String(await freePort()),
      }
    })
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    it("has ten", () => {
      expect(JOURNEYS).toHaveLength(10)
    })

    it.each(JOURNEYS)("%s", async name => {
      const script = `${COMMON}${readFileSync(join("test/journeys", name), "utf8")}`
      const { code, result } = await new Promise<{ code: number | null; result: string }>(done => {
        const shell = spawn("bash", ["-e", "-x", "-c", script], { env, stdio: ["ignore", "pipe", "pipe"] })
        let result = ""
        for (const stream of [shell.stdout, shell.stderr]) stream.on("data", chunk => (result += chunk))
        shell.on("close", code => done({ code, result }))
      })
      expect(code, result).toBe(0)
    })
  })
}
