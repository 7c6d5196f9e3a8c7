// SPDX-License-Identifier: Apache-2.0
// What counting a call by its shape costs the request path: calls that were seen before, and calls that are new each time,
// as a hostile caller sends them. `--json` prints one object. A share needs what a whole request costs: `npm run bench:proxy`.

import { BASE, CALLS, countingNanoseconds } from "./proxy/counting.js"

const result = {
  calls: CALLS,
  nanosecondsPerCall: {
    oneShape: countingNanoseconds([BASE]),
    hundredPaths: countingNanoseconds(Array.from({ length: 100 }, (_, n) => ({ ...BASE, path: `/orders/${n}/items` }))),
    newEachTime: countingNanoseconds(
      Array.from({ length: CALLS }, (_, n) => ({ ...BASE, path: `/orders/${n}/items` })),
    ),
  },
}

if (process.argv.includes("--json")) console.log(JSON.stringify(result))
else {
  console.log("CPU of counting one call by its shape:")
  for (const [name, nanoseconds] of Object.entries(result.nanosecondsPerCall))
    console.log(`  ${name.padEnd(14)} ${nanoseconds} ns`)
}
