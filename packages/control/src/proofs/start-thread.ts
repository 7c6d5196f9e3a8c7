// SPDX-License-Identifier: Apache-2.0
// Starts the thread, wherever its code is: beside this file, in an executable, or as source under test. Its memory is
// bounded: a proof that needs more ends the thread and not the process.

import { createRequire } from "node:module"
import { Worker, type WorkerOptions } from "node:worker_threads"
import type { ThreadSetup } from "./question.js"

/** The name under which an executable holds the thread's code. */
const ASSET = "proof-thread.cjs"
const NAME = "proof-thread-main"

export function startThread(setup: ThreadSetup): Worker {
  const options: WorkerOptions = { workerData: setup, resourceLimits: { maxOldGenerationSizeMb: 512 } }
  const inside = insideExecutable()
  if (inside !== undefined) return new Worker(inside, { ...options, eval: true })
  if (!import.meta.url.endsWith(".ts")) return new Worker(new URL(`./${NAME}.js`, import.meta.url), options)
  const [loader, source] = ["tsx/esm/api", new URL(`./${NAME}.ts`, import.meta.url).href].map(url =>
    JSON.stringify(url),
  )
  const code = `import(${loader}).then(({ register }) => { register(); return import(${source}) })`
  return new Worker(code, { ...options, eval: true, execArgv: ["--conditions=@merlon/source"] })
}

function insideExecutable(): string | undefined {
  try {
    // By `require`: a version of Node without it must not fail on an import.
    const sea: typeof import("node:sea") = createRequire(import.meta.url)("node:sea")
    return sea.isSea() ? sea.getAsset(ASSET, "utf8") : undefined
  } catch {
    return undefined
  }
}
