// SPDX-License-Identifier: Apache-2.0
// A user's program in the local mesh, as stored in `runs.json` of the data folder. Commands write the file, the mesh's
// supervisor applies it, and the next `up` reads it again.

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { messageOf, writePrivateFile } from "@merlon/xds/runtime"
import { CommandError } from "../../ctl/exit.js"
import { LockHeld, type MeshLock, takeLock } from "../record/mesh-lock.js"

const NAME = "runs.json"
const LOCK = "runs.lock"
/** The lock is held only while a small file is written. */
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
  /** The protocol as in the name of a port. */
  readonly protocol: string
  readonly labels: { readonly [name: string]: string }
  readonly serviceAccount: string
  readonly replicas: number
  /**
   * `{host}` and `{port}` are replaced by the address where an instance has to listen, which is also in HOST and PORT
   * of its environment.
   */
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: { readonly [name: string]: string }
  /** The address where the program listens if it ignores the given one. */
  readonly listensOn?: string
  /** The ingress port, stored under the name that earlier releases read. */
  readonly wayIn?: number
  /** The port of its Service. */
  readonly servicePort: number
  readonly probe: RunProbe
}

export function runKey({ namespace, name }: Pick<RunSpec, "namespace" | "name">): string {
  return `${namespace}/${name}`
}

/** The name of its Service, which all its versions share. */
export function serviceOf({ labels, name }: Pick<RunSpec, "labels" | "name">): string {
  return labels.app ?? name
}

/** Distinguishes a request from the next one with the same name. */
export function digestOf(spec: RunSpec): string {
  return createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16)
}

/** Throws if the file exists but cannot be read: reading it as empty would stop every running program. */
export function readRuns(data: string): readonly RunSpec[] {
  const file = join(data, NAME)
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"))
    if (!Array.isArray(value)) throw new Error("it is no list")
    return value as readonly RunSpec[] // only this file writes it, atomically
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []
    throw new CommandError(
      "unreadable-file",
      `cannot read \`${file}\`: ${messageOf(error)}; mend it, or remove it to run nothing of it`,
    )
  }
}

/** Changes are serialized, also between commands, so that no request is lost. */
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

/**
 * The probe in the format of a proxy's bootstrap. It is frequent, because users wait for the program that they have
 * just started.
 */
export function bootstrapProbe(probe: RunProbe, port: number): object {
  const often = { periodSeconds: 1 }
  return probe.kind === "command" ? { ...probe, ...often } : { ...probe, port, ...often }
}
