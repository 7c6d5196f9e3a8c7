// SPDX-License-Identifier: Apache-2.0
// The cost of counting a call by its shape on the request path: for known calls, and for calls that are new each time,
// as a hostile caller sends them. `--json` prints one object. For the share of a whole request, see `npm run
// bench:proxy`.

import { CALLS, callOf, countingNanoseconds, NEW_EACH_TIME } from "./proxy/counting.js"

const letters = (n: number): string => n.toString(26).replace(/\d/g, digit => "qrstuvwxyz".charAt(Number(digit)))
const result = {
  calls: CALLS,
  nanosecondsPerCall: {
    onePath: countingNanoseconds([callOf("/orders")]),
    hundredPaths: countingNanoseconds(Array.from({ length: 100 }, (_, n) => callOf(`/orders/${n}/items`))),
    newIdEachTime: countingNanoseconds(NEW_EACH_TIME),
    newUuidEachTime: countingNanoseconds(
      Array.from({ length: CALLS }, (_, n) => callOf(`/orders/0e37df36-f698-11e6-8dd4-${`${n}`.padStart(12, "c")}`)),
    ),
    newWordEachTime: countingNanoseconds(
      Array.from({ length: CALLS }, (_, n) => callOf(`/${letters(n)}/${letters(n)}`)),
    ),
  },
}

if (process.argv.includes("--json")) console.log(JSON.stringify(result))
else {
  console.log("CPU of counting one call by its shape:")
  for (const [name, nanoseconds] of Object.entries(result.nanosecondsPerCall))
    console.log(`  ${name.padEnd(16)} ${nanoseconds} ns`)
}
