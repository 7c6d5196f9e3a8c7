// SPDX-License-Identifier: Apache-2.0
// Proxies import this package for its client. The modules that they load at startup must not include Envoy's messages,
// which only a control plane uses.

import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const SOURCE = fileURLToPath(new URL("..", import.meta.url))
const STATIC_IMPORT = /^(?:import|export)\s(?!type\s)[^"';]*?from\s+"(\.[^"]+)"/gm

function reachedFrom(start: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [join(SOURCE, start)]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const name = relative(SOURCE, file)
    if (reached.has(name) || !existsSync(file)) continue
    reached.add(name)
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(STATIC_IMPORT)) {
      open.push(join(dirname(file), target.replace(/\.js$/, ".ts")))
    }
  }
  return reached
}

it("loads no encoder of Envoy's resources before the first request for one", () => {
  const reached = reachedFrom("index.ts")
  expect(reached).toContain("route-encoders.ts")
  expect([...reached].filter(file => file.startsWith("envoy/"))).toEqual([])
})

it("finds them in the modules that use them", () => {
  expect(reachedFrom("envoy/cluster.ts")).toContain("envoy/upstream-tls.ts")
})
