// SPDX-License-Identifier: Apache-2.0
// Waits until the supervisor's record shows the requested change.

import { setTimeout as sleep } from "node:timers/promises"
import { CommandError } from "../../ctl/exit.js"
import { lockHolder } from "../record/mesh-lock.js"
import { type MeshRecord, type RunRecord, readRecord } from "../record/mesh-record.js"
import { digestOf, type RunSpec, readRuns, runKey } from "./run-spec.js"

const LOOK_EVERY_MS = 100

/** Resolves when the run is ready or has failed. */
export async function awaitRun(data: string, spec: RunSpec): Promise<RunRecord> {
  const key = runKey(spec)
  const digest = digestOf(spec)
  return look(data, record => {
    const found = record.runs?.find(run => run.key === key && run.digest === digest)
    // It was removed and will never start.
    if (found === undefined && !readRuns(data).some(run => digestOf(run) === digest)) {
      throw new CommandError(
        "run-replaced",
        `something else was asked for under \`${key}\` meanwhile, or that it stops`,
      )
    }
    return found === undefined || found.phase === "starting" ? undefined : found
  })
}

/** Resolves when every part of the run has stopped. */
export async function awaitNoRun(data: string, run: Pick<RunSpec, "namespace" | "name">): Promise<void> {
  await look(data, record => (record.runs?.some(({ key }) => key === runKey(run)) === true ? undefined : true))
}

async function look<T>(data: string, find: (record: MeshRecord) => T | undefined): Promise<T> {
  for (;;) {
    const record = readRecord(data)
    const found = record && find(record)
    if (found !== undefined) return found
    if (lockHolder(data) === undefined) {
      throw new CommandError(
        "no-mesh",
        "the mesh was stopped in the meantime; start it with `merlonctl up`, which also starts your program",
      )
    }
    await sleep(LOOK_EVERY_MS)
  }
}
