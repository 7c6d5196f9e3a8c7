// SPDX-License-Identifier: Apache-2.0
// The entry point of an executable. It contains all our programs, and its file name selects one: `merlonctl` is a link
// to `merlond`, and a local mesh starts its processes under their names.

import { basename } from "node:path"

/** Set by the supervisor of a local mesh. */
const PARENT_WATCHDOG = "MERLON_PARENT_WATCHDOG"

async function main(): Promise<void> {
  if (process.env[PARENT_WATCHDOG] !== undefined) {
    delete process.env[PARENT_WATCHDOG]
    await import("../../packages/cli/src/local/processes/parent-watchdog.js")
  }
  switch (basename(process.argv0)) {
    case "merlonctl":
    case "kubectl-merlon":
      await import("../../packages/cli/src/merlonctl.js")
      return
    case "proof-check":
      await import("../../packages/proof-check/src/main.js")
      return
    case "httpbin":
    case "web":
    case "shop":
      return sample(basename(process.argv0))
    default:
      await import("../../packages/cli/src/merlond.js")
  }
}

async function sample(name: string): Promise<void> {
  if (name === "shop") return void (await import("../../samples/src/shop.js"))
  const { serve } = await import("../../samples/src/serve.js")
  if (name === "httpbin") {
    const { echo } = await import("../../samples/src/echo.js")
    await serve(name, () => echo)
  } else {
    const { greeting } = await import("../../samples/src/greeting.js")
    await serve(name, ({ version }) => greeting(version))
  }
}

void main()
