// SPDX-License-Identifier: Apache-2.0

/** V8 11 is Node 20's. */
const IS_NODE_20 = Number.parseInt(process.versions.v8, 10) <= 11

/**
 * How V8 runs processes of tests, which live for seconds or a few minutes: of the work of one that starts a control plane, a
 * third was to optimize what runs for a few seconds more, half of that the parser that undici brings as WebAssembly, and to
 * share small collections among four threads on two cores.
 */
export const SHORT_LIVED: readonly string[] = [
  // It would complain of a name it does not know.
  IS_NODE_20 ? "--interrupt-budget=1000000" : "--invocation-count-for-turbofan=50000",
  "--wasm-tiering-budget=1000000000",
  "--semi-space-growth-factor=16",
  "--no-parallel-scavenge",
]
