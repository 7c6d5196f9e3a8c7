// SPDX-License-Identifier: Apache-2.0
// How V8 is to run a proxy. Its objects live as long as a request, so the part of the heap where new ones are made need not
// be large. V8 would let it grow to twice 16 MiB (since Node 24 to twice 64) all the same, which for a proxy beside every
// workload is a third of what it weighs. And a proxy runs the same few functions for ever: a second compiler between the
// first and the last, which Node has since 22, keeps 4 to 8 MB, where the last can begin as soon.

import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Not after 3,000 calls: what runs once for a connection would wait for hours beside a workload that has few. */
const CALLS_BEFORE_COMPILING = 500
/** The same for Node 20, which counts what is executed instead of calls: about a quarter of its usual. */
const BUDGET_BEFORE_COMPILING = 15_000
/** V8 11 is Node 20's. */
const IS_NODE_20 = Number.parseInt(process.versions.v8, 10) <= 11
/** What is made for the first requests is not worth keeping either. */
const AFTER_START_MS = 1_000

export function tuneEngine(): void {
  // The young generation stays as large as it is: starting up has given it room enough.
  setFlagsFromString("--semi-space-growth-factor=1")
  setFlagsFromString("--no-maglev")
  // So little is collected at a time that to wake another thread for half of it costs more than to do it.
  setFlagsFromString("--no-parallel-scavenge")
  // When it is full, and not at four fifths by a task, for which the event loop would have to be woken.
  setFlagsFromString("--no-minor-gc-task")
}

/**
 * Once it enforces something. Until then V8 compiles as late as it usually does: what a start calls some hundred times is never
 * called again, and compiling it takes memory.
 */
export function settleSoon(): void {
  setTimeout(settle, AFTER_START_MS).unref()
}

export function settle(): void {
  // It would complain of a name it does not know.
  if (IS_NODE_20) setFlagsFromString(`--interrupt-budget=${BUDGET_BEFORE_COMPILING}`)
  else setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_COMPILING}`)
  giveBack()
}

/**
 * A start leaves a third of the heap behind with nothing in it, and V8 looks for that only when the heap has grown by as much
 * again, which with a proxy's may take hours or seconds. It takes a few hundredths of a second.
 */
function giveBack(): void {
  setFlagsFromString("--expose-gc")
  const collect: (how?: { readonly type: "major"; readonly flavor: "last-resort" }) => void = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  // Node 20 knows one way alone, and takes any wish for that of a small collection.
  if (IS_NODE_20) collect()
  else collect({ type: "major", flavor: "last-resort" })
}
