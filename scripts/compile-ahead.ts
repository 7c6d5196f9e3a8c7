// SPDX-License-Identifier: Apache-2.0
// Leaves our programs as code that V8 has compiled already, for the version of Node that runs this and for this build alone.
// What is compiled is what a mesh needs that starts, is asked a few things and ends; functions that nobody called then are
// compiled when somebody does. `npm test` starts many hundreds of processes, and reading their code was a third of their work.

import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { transform } from "esbuild"
import { SHORT_LIVED } from "./ahead/flags.js"

const BUNDLE = resolve("packages/cli/bundle")
const AHEAD = join(BUNDLE, "ahead", `${process.version}-${process.arch}`)
const DONE = join(AHEAD, "done")
const RECORDER = resolve("scripts/ahead/record.cjs")

const CALL = ["xclient", "--host", "httpbin.foo:8000", "--path", "/get", "1"]

/** Scripts, because Node keeps compiled modules only since version 22, and only in folders of its own choice. */
async function writeScripts(): Promise<void> {
  const names = readdirSync(BUNDLE, { encoding: "utf8" }).filter(name => name.endsWith(".js"))
  for (const name of names) {
    const source = readFileSync(join(BUNDLE, name), "utf8").replace(/^#!.*\n/, "")
    const { code } = await transform(
      source.replace(/^import\{createRequire as \$require\}.*?__dirname=import\.meta\.dirname;/m, ""),
      {
        format: "cjs",
        platform: "node",
        target: "node20",
        minifySyntax: true,
        minifyWhitespace: true,
        // Every `import()` here is of a file of the same bundle, or of Node.
        supported: { "dynamic-import": false },
        define: { "import.meta.url": "$url" },
        banner: 'const $url=require("node:url").pathToFileURL(__filename).href;',
      },
    )
    writeFileSync(join(AHEAD, name), code)
  }
}

/** What a mesh does on most days. */
function tryThemOut(folder: string): void {
  const data = ["--data", join(folder, "mesh")]
  const env = { ...process.env, NODE_OPTIONS: `--require ${RECORDER}` }
  const run = (program: string, ...args: string[]): void => {
    execFileSync(process.execPath, [`packages/cli/bin/${program}.js`, ...args], {
      env,
      stdio: "pipe",
      timeout: 180_000,
    })
  }
  run("merlonctl", "up", "--detach", ...data)
  try {
    const kubeconfig = ["--kubeconfig", join(folder, "mesh/cluster/kubeconfig")]
    run("merlonctl", "get", "pods", "-A", ...kubeconfig)
    run("merlonctl", "apply", "--wait", "-f", "samples/policies/only-consumer.yaml", ...kubeconfig)
    run("merlonctl", "status", ...data)
    run("merlonctl", "exec", "consumer", "-n", "app", ...data, "--", ...CALL)
  } finally {
    run("merlonctl", "down", ...data)
  }
}

/** Of each script, what was compiled of it by the process that used most of it. */
function keepLargest(): void {
  const left = readdirSync(AHEAD).filter(name => /\.code\.\d+$/.test(name))
  const size = (name: string): number => statSync(join(AHEAD, name)).size
  for (const name of left.sort((one, other) => size(one) - size(other))) {
    renameSync(join(AHEAD, name), join(AHEAD, name.replace(/\.\d+$/, "")))
  }
}

async function compileAhead(): Promise<void> {
  rmSync(dirname(AHEAD), { recursive: true, force: true })
  mkdirSync(AHEAD, { recursive: true })
  await writeScripts()
  writeFileSync(join(AHEAD, "flags"), `${SHORT_LIVED.join("\n")}\n`)
  const folder = mkdtempSync(join(tmpdir(), "merlon-ahead-"))
  try {
    tryThemOut(folder)
    keepLargest()
    writeFileSync(DONE, "")
  } catch (error) {
    rmSync(dirname(AHEAD), { recursive: true, force: true })
    throw error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (!existsSync(DONE)) {
  try {
    await compileAhead().catch((error: unknown) => {
      console.warn(`!!! programs could not be compiled ahead and are tried again: ${String(error)}`)
      return compileAhead()
    })
  } catch (error) {
    // A mesh that does not do what it does on most days is a fault, and in the output of a whole run nobody reads a warning.
    if (process.env.CI === "true") throw error
    // Everything works without; it only takes longer.
    console.warn(`!!! programs are not compiled ahead in this run: ${String(error)}`)
  }
}
