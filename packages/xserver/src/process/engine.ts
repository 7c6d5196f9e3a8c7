// SPDX-License-Identifier: Apache-2.0
// How V8 is to run a proxy. Its objects live as long as a request, so the part of the heap where new ones are made need not
// be large. V8 would let it grow to twice 16 MiB (since Node 24 to twice 64) all the same, which for a proxy beside every
// workload is a third of what it weighs. And a proxy runs the same few functions for ever: a second compiler between the
// first and the last, which Node has since 22, keeps 4 to 8 MB, where the last can begin as soon.

import { setFlagsFromString } from "node:v8"

/** Not after 3,000 calls: what runs once for a connection would wait for hours beside a workload that has few. */
const CALLS_BEFORE_COMPILING = 500
/** The same for Node 20, which counts what is executed instead of calls: about a quarter of its usual. */
const BUDGET_BEFORE_COMPILING = 15_000

export function tuneEngine(): void {
  // The young generation stays as large as it is: starting up has given it room enough.
  setFlagsFromString("--semi-space-growth-factor=1")
  setFlagsFromString("--no-maglev")
  // V8 11 is Node 20's. It would complain of a name it does not know.
  const countsCalls = Number.parseInt(process.versions.v8, 10) > 11
  if (countsCalls) setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_COMPILING}`)
  else setFlagsFromString(`--interrupt-budget=${BUDGET_BEFORE_COMPILING}`)
}
