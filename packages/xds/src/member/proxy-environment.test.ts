// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { PROXY_ENVIRONMENT, proxyEnvironment } from "./proxy-environment.js"

const UNIT = new URL("../../../../deploy/systemd/merlon-xserver@.service", import.meta.url)

describe("what a proxy's process is started with", () => {
  it("is taken by Node, beside what a person had set", () => {
    const env = proxyEnvironment({ NODE_OPTIONS: "--no-warnings" })
    const told = execFileSync(process.execPath, ["-p", "process.env.NODE_OPTIONS"], { env, encoding: "utf8" })
    expect(told.trim()).toBe("--v8-pool-size=1 --no-warnings")
  })

  it("leaves fewer threads than Node has by itself", () => {
    const threads = (env: NodeJS.ProcessEnv): number =>
      Number(
        execFileSync(process.execPath, ["-p", "require('fs').readdirSync('/proc/self/task').length"], {
          env,
          encoding: "utf8",
        }),
      )
    expect(threads(proxyEnvironment({}))).toBeLessThan(threads({}))
  })

  it("is the same in the unit of systemd", () => {
    const said = Object.entries(PROXY_ENVIRONMENT).map(([name, value]) => `${name}=${value}`)
    expect(readFileSync(UNIT, "utf8")).toContain(`\nEnvironment=${said.join(" ")}\n`)
  })
})
