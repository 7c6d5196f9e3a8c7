// SPDX-License-Identifier: Apache-2.0
// Starts a worker thread, wherever its code is: beside the file that starts it, in an executable, or as source in
// tests.

import { createRequire } from "node:module"
import { Worker, type WorkerOptions } from "node:worker_threads"

export interface WorkerCode {
  /** `import.meta.url` of a file in the same folder as the code. */
  readonly beside: string
  /** The entry file of the thread, without its extension. */
  readonly name: string
  /** The name of the asset that holds the code in an executable. */
  readonly asset: string
}

export function startWorker({ beside, name, asset }: WorkerCode, options: WorkerOptions): Worker {
  const inside = insideExecutable(beside, asset)
  if (inside !== undefined) return new Worker(inside, { ...options, eval: true })
  if (!beside.endsWith(".ts")) return new Worker(new URL(`./${name}.js`, beside), options)
  const [loader, source] = ["tsx/esm/api", new URL(`./${name}.ts`, beside).href].map(url => JSON.stringify(url))
  const code = `import(${loader}).then(({ register }) => { register(); return import(${source}) })`
  return new Worker(code, { ...options, eval: true, execArgv: ["--conditions=@merlon/source"] })
}

function insideExecutable(beside: string, asset: string): string | undefined {
  try {
    // Loaded with `require`, because an import would fail in a version of Node without it.
    const sea: typeof import("node:sea") = createRequire(beside)("node:sea")
    return sea.isSea() ? sea.getAsset(asset, "utf8") : undefined
  } catch {
    return undefined
  }
}
