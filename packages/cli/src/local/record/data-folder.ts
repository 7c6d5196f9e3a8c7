// SPDX-License-Identifier: Apache-2.0
// The local mesh that a command uses: that of `--data`, else of the current folder or its nearest ancestor with one.

import { existsSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { type Command, Option } from "commander"
import { CommandError } from "../../ctl/exit.js"
import { type MeshRecord, readRecord } from "./mesh-record.js"

const NAME = ".merlon"

export interface DataFlags {
  readonly data?: string
}

export function withDataFlag(command: Command): Command {
  return command.addOption(
    new Option("--data <folder>", "data folder of the mesh (default: .merlon, here or above)").env("MERLON_DATA"),
  )
}

/** An absolute path. A folder of another user is ignored: its files would be used with our permissions. */
export function dataFolder({ data }: DataFlags, cwd: string, uid = process.getuid?.()): string {
  if (data !== undefined && data !== "") return resolve(cwd, data)
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const candidate = join(folder, NAME)
    const found = statSync(join(candidate, "mesh.json"), { throwIfNoEntry: false })
    if (found !== undefined && (uid === undefined || found.uid === uid)) return candidate
    if (dirname(folder) === folder) return resolve(cwd, NAME)
  }
}

export function recordOrThrow(data: string): MeshRecord {
  const record = readRecord(data)
  if (record !== undefined && record.phase !== "stopped") return record
  const where = existsSync(data) ? `the local mesh in \`${data}\` is not running` : `no local mesh in \`${data}\``
  throw new CommandError("no-mesh", `${where}; start it with \`merlonctl up\`, or pass another folder with \`--data\``)
}
