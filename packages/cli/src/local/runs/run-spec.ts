// SPDX-License-Identifier: Apache-2.0
// A program to run in the local mesh beside the samples, as stored in `runs.json` of the data folder. Commands write it,
// the mesh's supervisor applies it, and the next `up` finds it again.

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { messageOf, writePrivateFile } from "@merlon/xds/runtime"
import { CommandError } from "../../ctl/exit.js"
import { LockHeld, type MeshLock, takeLock } from "../record/mesh-lock.js"

const NAME = "runs.json"
const LOCK = "runs.lock"
/** It is held for as long as a small file is written. */
const LOOK_EVERY_MS = 20
const MAX_TRIES = 1_500

export type RunProbe =
  | { readonly kind: "tcp" }
  | { readonly kind: "http"; readonly path: string }
  | { readonly kind: "command"; readonly command: readonly string[] }

export interface RunSpec {
  readonly namespace: string
  readonly name: string
  readonly port: number
  /** As a port's name says it. */
  readonly protocol: string
  readonly labels: { readonly [name: string]: string }
  readonly serviceAccount: string
  readonly replicas: number
  /** `{host}` and `{port}` stand for where an instance is to listen; so do HOST and PORT of its environment. */
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  /** Where the program listens, if it does not do so where it is told. */
  readonly listensOn?: string
  /** Port of this machine for callers outside the mesh; stored under the name that earlier releases read. */
  readonly wayIn?: number
  /** Port of its Service. */
  readonly servicePort: number
  readonly probe: RunProbe
}

export function runKey({ namespace, name }: Pick<RunSpec, "namespace" | "name">): string {
  return `${namespace}/${name}`
}

/** Its Service, which all versions of it share. */
export function serviceOf({ labels, name }: Pick<RunSpec, "labels" | "name">): string {
  return labels.app ?? name
}

/** Tells a request from the next one under the same name. */
export function digestOf(spec: RunSpec): string {
  return createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16)
}

/** Fails where it is there and cannot be read: to read it as empty would stop everything that runs. */
export function readRuns(data: string): readonly RunSpec[] {
  const file = join(data, NAME)
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"))
    if (!Array.isArray(value)) throw new Error("it is no list")
    return value as readonly RunSpec[] // written by this file alone, whole or not at all
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []
    throw new CommandError(
      "unreadable-file",
      `cannot read \`${file}\`: ${messageOf(error)}; mend it, or remove it to run nothing of it`,
    )
  }
}

/** One change after the other, also of several commands: a request of another command is not lost. */
export async function changeRuns(
  data: string,
  change: (runs: readonly RunSpec[]) => readonly RunSpec[],
): Promise<void> {
  await written(data, () => change(readRuns(data)))
}

/** Replaces every earlier request. */
export async function replaceRuns(data: string, runs: readonly RunSpec[]): Promise<void> {
  await written(data, () => runs)
}

async function written(data: string, runs: () => readonly RunSpec[]): Promise<void> {
  const lock = await freeLock(data)
  try {
    writePrivateFile(data, NAME, `${JSON.stringify(runs(), undefined, 2)}\n`)
  } finally {
    lock.release()
  }
}

async function freeLock(data: string): Promise<MeshLock> {
  for (let tries = 1; ; tries++) {
    try {
      return takeLock(data, LOCK)
    } catch (error) {
      if (!(error instanceof LockHeld) || tries > MAX_TRIES) throw error
      await sleep(LOOK_EVERY_MS)
    }
  }
}

export function withRun(runs: readonly RunSpec[], spec: RunSpec): readonly RunSpec[] {
  return [...withoutRun(runs, spec), spec]
}

export function withoutRun(runs: readonly RunSpec[], run: Pick<RunSpec, "namespace" | "name">): readonly RunSpec[] {
  return runs.filter(other => runKey(other) !== runKey(run))
}

export function withPlace(words: readonly string[], host: string, port: number): readonly string[] {
  return words.map(word => word.replaceAll("{host}", host).replaceAll("{port}", String(port)))
}

/** As a proxy's bootstrap words it. Often, since people wait for what they have just started. */
export function bootstrapProbe(probe: RunProbe, port: number): object {
  const often = { periodSeconds: 1 }
  return probe.kind === "command" ? { ...probe, ...often } : { ...probe, port, ...often }
}
