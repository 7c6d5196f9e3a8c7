// SPDX-License-Identifier: Apache-2.0
// A whole local mesh in one YAML file: which programs run in it, with or without the samples, and which documents are
// applied once it is ready. Paths are from the file's own folder.

import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { ConfigurationError, Reader } from "@merlon/xds"
import { parse } from "yaml"
import { CommandError } from "../ctl/exit.js"
import { PROTOCOLS } from "../ctl/workload/parse-flags.js"
import { type RunProbe, type RunSpec, runKey } from "./run-spec.js"
import { checkRunName, runSpec } from "./run-wish.js"

export interface MeshFile {
  readonly samples: boolean
  readonly runs: readonly RunSpec[]
  /** Files and folders. */
  readonly apply: readonly string[]
}

const MAX_PORT = 65_535

export function readMeshFile(path: string, searchPath: string): MeshFile {
  try {
    return meshFileOf(readFileSync(path, "utf8"), dirname(resolve(path)), searchPath)
  } catch (error) {
    throw new CommandError(`${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

export function meshFileOf(text: string, folder: string, searchPath: string): MeshFile {
  const root = Reader.of(parse(text) ?? {}, "")
  const samples = root.flag("samples", false)
  const runs = root.list("workloads", (item, path) => runOf(Reader.of(item, path), folder, searchPath))
  const apply = root.texts("apply").map(file => resolve(folder, file))
  root.end()
  const twice = runs.find((run, index) => runs.findIndex(other => runKey(other) === runKey(run)) !== index)
  if (twice !== undefined)
    throw new ConfigurationError(
      "config-value",
      `workloads: \`${twice.name}\` is there twice in \`${twice.namespace}\``,
    )
  return { samples, runs, apply }
}

function runOf(reader: Reader, folder: string, searchPath: string): RunSpec {
  const port = (name: string, fallback?: number): number => reader.whole(name, 1, MAX_PORT, fallback)
  const namespace = reader.text("namespace", "default")
  const name = reader.text("name")
  checkRunName(name, namespace)
  const command = reader.texts("command")
  if (command.length === 0) {
    throw new ConfigurationError(
      "config-value",
      `${reader.path}.command: must name a program, as \`[node, server.js]\``,
    )
  }
  const serviceAccount = reader.optionalText("serviceAccount")
  const listensOn = reader.optionalText("listensOn")
  const spec = runSpec({
    namespace,
    name,
    port: port("port"),
    protocol: reader.choice("protocol", PROTOCOLS, "http"),
    labels: reader.textMap("labels"),
    replicas: reader.whole("replicas", 1, 50, 1),
    command,
    cwd: resolve(folder, reader.text("folder", ".")),
    env: { PATH: searchPath, ...reader.textMap("env") },
    probe: reader.has("probe") ? reader.child("probe", probeOf) : { kind: "tcp" },
    ...(serviceAccount === undefined ? {} : { serviceAccount }),
    ...(listensOn === undefined ? {} : { listensOn }),
    ...(reader.has("servicePort") ? { servicePort: port("servicePort") } : {}),
    ...(reader.has("wayIn") ? { wayIn: port("wayIn") } : {}),
  })
  reader.end()
  return spec
}

function probeOf(reader: Reader): RunProbe {
  const path = reader.optionalText("http")
  const command = reader.texts("command")
  if (path !== undefined && command.length > 0) {
    throw new ConfigurationError("config-value", `${reader.path}: asks by \`http\` or by \`command\`, not by both`)
  }
  if (path !== undefined) return { kind: "http", path }
  return command.length > 0 ? { kind: "command", command } : { kind: "tcp" }
}
