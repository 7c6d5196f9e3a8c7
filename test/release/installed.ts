// SPDX-License-Identifier: Apache-2.0
// What a person does with a program that is installed somewhere: asks its version, runs a mesh, calls a sample, stops.

import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

export interface Tried {
  readonly versions: readonly string[]
  readonly called: number
  readonly routed: string
  readonly status: string
}

/** `bin` holds `merlond` and `merlonctl`; nothing of the repository is within reach from `home`. */
export async function tryMesh(bin: string, home: string, path = process.env.PATH ?? ""): Promise<Tried> {
  const env = { PATH: `${bin}:${path}`, HOME: home }
  const ctl = async (...args: readonly string[]): Promise<string> =>
    (await run(join(bin, "merlonctl"), [...args], { cwd: home, env, maxBuffer: 1 << 24 })).stdout
  const versions = [await ctl("--version"), (await run(join(bin, "merlond"), ["--version"], { cwd: home, env })).stdout]
  const port = 20_000 + (process.pid % 20_000)
  await ctl("up", "--detach", "--way-in", `httpbin.foo=${port}`, "--way-in", `web.app=${port + 1}`)
  try {
    const { status: called } = await fetch(`http://127.0.0.1:${port}/headers`)
    const routed = await ctl("exec", "consumer", "-n", "app", "--", "xclient", "--print-route")
    return { versions: versions.map(text => text.trim()), called, routed, status: await ctl("status") }
  } finally {
    await ctl("down")
  }
}
