// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pino from "pino"
import { afterEach, beforeEach, expect, it } from "vitest"
import { FileSource } from "./file-source.js"

let folder: string
let source: FileSource
/** Policy names of each configuration, and `rejected` for invalid ones. */
let came: string[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "file-source-"))
  came = []
  const logger = pino({ level: "silent" })
  source = new FileSource({ path: join(folder, "config.yaml"), state: undefined, logger })
})
afterEach(() => {
  source.close()
  rmSync(folder, { recursive: true })
})

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)

const config = (...policyFiles: readonly string[]): string =>
  JSON.stringify({ workload: { namespace: "foo", name: "web-1" }, ports: [{ port: 8080 }], policyFiles })

const policy = (name: string): string =>
  JSON.stringify({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name, namespace: "foo" },
    spec: {},
  })

const start = (): Promise<void> =>
  source.start({
    enforce: async ({ policies }) => void came.push(policies.map(({ metadata }) => metadata.name).join()),
    rejected: () => void came.push("rejected"),
  })

it("follows the file and the files that it names", async () => {
  write("a.yaml", policy("a"))
  write("config.yaml", config("a.yaml"))
  await start()
  expect(came).toEqual(["a"])
  write("a.yaml", policy("another"))
  await expect.poll(() => came.at(-1)).toBe("another")
  write("config.yaml", config())
  await expect.poll(() => came.at(-1)).toBe("")
})

it("notices a change that happens while it reads", async () => {
  write("later.yaml", policy("later"))
  write("changed.yaml", config("later.yaml"))
  execFileSync("mkfifo", [join(folder, "slow.yaml")])
  write("config.yaml", config("slow.yaml"))
  // Opening the pipe blocks until the reader opens it: the configuration file has been read by then, but not the files
  // that it names.
  const script = 'exec 3>slow.yaml; mv changed.yaml config.yaml; printf "%s" "$POLICY" >&3'
  spawn("sh", ["-c", script], { cwd: folder, env: { PATH: process.env.PATH, POLICY: policy("first") } })
  await start()
  expect(came).toEqual(["first"])
  await expect.poll(() => came.at(-1)).toBe("later")
})

it("notices the repair of a file whose change was rejected", async () => {
  write("config.yaml", config())
  await start()
  write("b.yaml", "{")
  write("config.yaml", config("b.yaml"))
  await expect.poll(() => came.at(-1)).toBe("rejected")
  write("b.yaml", policy("mended"))
  await expect.poll(() => came.at(-1)).toBe("mended")
})
