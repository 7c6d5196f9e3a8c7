// SPDX-License-Identifier: Apache-2.0
// Starts the mesh and the browser that the console's tests share. Vitest's main process does so when the first worker
// requests them: an unused mesh would take CPU. They communicate through files, since Vitest can pass values to workers only
// before they start.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../../packages/wire/src/testing/eventually.js"

type WhatRuns =
  | { readonly where: string; readonly failure?: never }
  | { readonly failure: string; readonly where?: never }

const PAUSE_MS = 100
/** Shorter than the timeout of the hooks that wait for it. */
const LIMIT_MS = 280_000

/** Starts the resource when a worker requests it, and publishes its address. Undefined without a request, or on failure. */
export async function startWhenAsked<T>(
  folder: string,
  name: string,
  ended: AbortSignal,
  start: () => Promise<{ readonly started: T; readonly where: string }>,
): Promise<T | undefined> {
  while (!existsSync(asked(folder, name))) {
    if (ended.aborted) return undefined
    await sleep(PAUSE_MS)
  }
  try {
    const { started, where } = await start()
    notify(folder, name, { where })
    return started
  } catch (error) {
    notify(folder, name, { failure: String(error) })
    return undefined
  }
}

/** Requests the resource, and returns its address once it runs; throws if it could not be started. */
export async function whatRuns(folder: string, name: string): Promise<string> {
  writeFileSync(asked(folder, name), "")
  const answer = answered(folder, name)
  await eventually(() => existsSync(answer), { what: `${name} runs or has failed to start`, limitMs: LIMIT_MS })
  const what: WhatRuns = JSON.parse(readFileSync(answer, "utf8"))
  if (what.failure !== undefined) throw new Error(what.failure)
  return what.where
}

function notify(folder: string, name: string, what: WhatRuns): void {
  const answer = answered(folder, name)
  writeFileSync(`${answer}.part`, JSON.stringify(what))
  renameSync(`${answer}.part`, answer)
}

const asked = (folder: string, name: string): string => join(folder, `${name}.asked`)
const answered = (folder: string, name: string): string => join(folder, `${name}.json`)
