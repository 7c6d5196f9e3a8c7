// SPDX-License-Identifier: Apache-2.0
// The control plane with many connected proxies: how long a change takes from the request that applies it to the last
// acknowledgement, the cost of a push and of a proxy, and the cost of a restart, after which all proxies reconnect at
// once. Runs several sizes to show the growth, and extrapolates to 100,000. CPU and memory are those of the control
// plane only; wall times include the share of the fleet and the API server. Flags: --json, --sizes 1000,5000,10000,
// --changes N, --baseline FILE for the merlond.js of another build, which is measured in the same run, --profile FOLDER
// for a CPU profile of each run of the control plane.

import { readFileSync } from "node:fs"
import { freemem, loadavg } from "node:os"
import { parseArgs } from "node:util"
import { measureFloor } from "./control/floor.js"
import { GOALS, report } from "./control/report.js"
import { MERLOND } from "./control/servers.js"
import { type Build, measureSize, type SizeFigures } from "./control/size.js"

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    sizes: { type: "string", default: "1000,5000,10000" },
    changes: { type: "string", default: "11" },
    baseline: { type: "string" },
    profile: { type: "string" },
  },
})

/** Memory of the benchmark itself: the fleet's end of a connection and the control plane's. */
const KILOBYTES_PER_PROXY = 1_000
const SPARE_FILES = 200

const builds: readonly (readonly [Build, string])[] = [
  ...(values.baseline === undefined ? [] : [["baseline", values.baseline] as const]),
  ["this", MERLOND],
]
const results: SizeFigures[] = []
if (!values.json) console.log("measuring a server of Node with nothing but TLS")
const floor = await measureFloor(GOALS.cost.proxies, Number(values.changes))
notify("floor", floor)
const skipped: { readonly proxies: number; readonly why: string }[] = []
for (const proxies of values.sizes.split(",").map(Number)) {
  const why = lacking(proxies)
  if (why !== undefined) {
    skipped.push({ proxies, why })
    continue
  }
  for (const [build, merlond] of builds) {
    if (!values.json) console.log(`measuring ${proxies} proxies, build: ${build}`)
    const load = loadavg()[0] ?? 0
    const { profile, changes } = values
    results.push({
      load,
      ...(await measureSize({ build, merlond, count: proxies, changes: Number(changes), profile, notify })),
    })
  }
}
if (values.json) console.log(JSON.stringify({ goals: GOALS, floor, results, skipped }))
else console.log(report(results, skipped, floor))

function notify(what: string, figures: unknown): void {
  if (!values.json) console.log(`  ${what} ${JSON.stringify(figures)}`)
}

function lacking(proxies: number): string | undefined {
  const files = Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1])
  if (proxies + SPARE_FILES > files) return `ulimit -n is ${files}`
  const megabytes = Math.round(freemem() / 1e6)
  if (proxies * KILOBYTES_PER_PROXY > freemem() / 1_000) return `${megabytes} MB of memory are free`
  return undefined
}
