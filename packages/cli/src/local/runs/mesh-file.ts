// SPDX-License-Identifier: Apache-2.0
// A whole local mesh in one YAML file: its programs, with or without the samples, and the documents to apply once it is
// ready. Paths are relative to the file.

import { dirname, resolve } from "node:path"
import {
  choice,
  flag,
  list,
  optional,
  orElse,
  type Read,
  record,
  ShapeError,
  settings,
  someText,
  text,
  whole,
} from "@merlon/policy/shape"
import { ConfigurationError, readSettings } from "@merlon/xds/member"
import { messageOf, readUtf8File } from "@merlon/xds/runtime"
import { parse } from "yaml"
import { CommandError } from "../../ctl/exit.js"
import { PROTOCOLS } from "../../ctl/workload/parse-flags.js"
import { checkRunName, runSpec } from "./run-request.js"
import { type RunProbe, type RunSpec, runKey } from "./run-spec.js"

export interface MeshFile {
  readonly samples: boolean
  readonly runs: readonly RunSpec[]
  /** Files and folders to apply. */
  readonly apply: readonly string[]
}

const MAX_ITEMS = 1_024
const port = whole(1, 65_535)
const texts = orElse(list(MAX_ITEMS, someText), [])
const textMap = orElse(record(MAX_ITEMS, text(65_536)), {})

const probe: Read<RunProbe> = (value, at) => {
  const { http: path, command } = settings({ http: optional(someText), command: texts })(value, at)
  if (path !== undefined && command.length > 0) {
    throw new ShapeError("value", `${at}: asks by \`http\` or by \`command\`, not by both`)
  }
  if (path !== undefined) return { kind: "http", path }
  return command.length > 0 ? { kind: "command", command } : { kind: "tcp" }
}

const workload = settings({
  name: someText,
  namespace: orElse(someText, "default"),
  port,
  protocol: orElse(choice(...PROTOCOLS), "http"),
  command: texts,
  folder: orElse(someText, "."),
  env: textMap,
  labels: textMap,
  replicas: orElse(whole(1, 50), 1),
  probe,
  serviceAccount: optional(someText),
  listensOn: optional(someText),
  servicePort: optional(port),
  expose: optional(port),
  /** The name of `expose` in earlier releases. */
  wayIn: optional(port),
})

const file = settings({
  samples: orElse(flag, false),
  workloads: orElse(
    list(MAX_ITEMS, (item, at) => ({ at, request: workload(item, at) })),
    [],
  ),
  apply: texts,
})

export function readMeshFile(path: string, searchPath: string): MeshFile {
  try {
    return meshFileOf(readUtf8File(path), dirname(resolve(path)), searchPath)
  } catch (error) {
    throw new CommandError("unreadable-file", `${path}: ${messageOf(error)}`)
  }
}

export function meshFileOf(text: string, folder: string, searchPath: string): MeshFile {
  const { samples, workloads, apply } = readSettings(parse(text), file)
  const runs = workloads.map(({ at, request: { folder: cwd, env, wayIn, expose = wayIn, ...request } }) => {
    checkRunName(request.name, request.namespace)
    if (request.command.length === 0) {
      throw new ConfigurationError("config-value", `${at}.command: must name a program, as \`[node, server.js]\``)
    }
    const exposed = expose === undefined ? {} : { expose }
    return runSpec({ ...request, ...exposed, cwd: resolve(folder, cwd), env: { PATH: searchPath, ...env } })
  })
  const twice = runs.find((run, index) => runs.findIndex(other => runKey(other) === runKey(run)) !== index)
  if (twice !== undefined)
    throw new ConfigurationError(
      "config-value",
      `workloads: \`${twice.name}\` is there twice in \`${twice.namespace}\``,
    )
  return { samples, runs, apply: apply.map(item => resolve(folder, item)) }
}
