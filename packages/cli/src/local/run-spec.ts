// SPDX-License-Identifier: Apache-2.0
// What a person wants to run in the local mesh beside the samples, as it is kept in `runs.json` of the data folder. Commands
// write it, the mesh's supervisor brings about what it says, and the next `up` finds it again.

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { writePrivateFile } from "@merlon/xds"
import { listOf } from "../ctl/foreign.js"

const NAME = "runs.json"

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
  /** Port of this machine for callers from outside of the mesh. */
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

/** Tells one wish from the next under the same name. */
export function digestOf(spec: RunSpec): string {
  return createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16)
}

export function readRuns(data: string): readonly RunSpec[] {
  try {
    const value: unknown = JSON.parse(readFileSync(join(data, NAME), "utf8"))
    return listOf(value) as readonly RunSpec[] // written by this file alone, whole or not at all
  } catch {
    return []
  }
}

export function writeRuns(data: string, runs: readonly RunSpec[]): void {
  writePrivateFile(data, NAME, `${JSON.stringify(runs, undefined, 2)}\n`)
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
