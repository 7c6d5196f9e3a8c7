// SPDX-License-Identifier: Apache-2.0
// How to start the programs of a local mesh, depending on where this code runs: source, build, bundle, or an executable
// that contains all of them and selects one by its name.

import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { isSea } from "node:sea"
import { fileURLToPath, pathToFileURL } from "node:url"
import { CommandError } from "../../ctl/exit.js"

export interface Launch {
  readonly file: string
  readonly args: readonly string[]
  /** The value of `argv[0]`. */
  readonly argv0?: string
  /** Variables in addition to the default environment. */
  readonly env?: NodeJS.ProcessEnv
  /** A part of its command line that identifies it. */
  readonly mark: string
}

export interface Programs {
  /** The words to type for `merlonctl` if no such program is installed. */
  readonly typed: readonly string[]
  /** The folder of the samples' manifests and policies. Undefined if they are not installed. */
  readonly samples: string | undefined
  merlond(args: readonly string[]): Launch
  merlonctl(args: readonly string[]): Launch
  sample(name: string, args: readonly string[]): Launch
  /** The same program, but it ends when its supervisor ends: see `parent-watchdog.ts`. */
  readonly watchingParent: (launch: Launch) => Launch
}

/** Makes one of our executables end with its supervisor. */
const PARENT_WATCHDOG = "MERLON_PARENT_WATCHDOG"

export function findPrograms(): Programs {
  return isSea() ? programsWithin(process.execPath) : programsAround(fileURLToPath(import.meta.url))
}

/** An executable that contains all programs. */
function programsWithin(executable: string): Programs {
  const called = (name: string, args: readonly string[]): Launch => ({
    file: executable,
    args,
    argv0: name,
    mark: name,
  })
  const home = dirname(dirname(executable))
  const samples = [join(home, "samples"), join(home, "share", "merlon", "samples")]
  return {
    typed: [join(dirname(executable), "merlonctl")],
    samples: samples.find(folder => existsSync(join(folder, "manifests"))),
    merlond: args => called("merlond", args),
    merlonctl: args => called("merlonctl", args),
    sample: called,
    watchingParent: launch => ({ ...launch, env: { ...launch.env, [PARENT_WATCHDOG]: "1" } }),
  }
}

/** Scripts for Node. */
function programsAround(from: string): Programs {
  const home = packageFolder(from)
  const script = (path: string, args: readonly string[]): Launch => ({
    file: process.execPath,
    args: [path, ...args],
    mark: path,
  })
  const watchdog = pathToFileURL(join(home, "bundle", "parent-watchdog.js")).href
  // In an installation they are in the package, in a clone next to all packages.
  const samples = [join(home, "samples"), join(home, "..", "..", "samples")].find(folder =>
    existsSync(join(folder, "dist", "httpbin.js")),
  )
  return {
    typed: ["node", join(home, "bin", "merlonctl.js")],
    samples,
    merlond: args => script(join(home, "bin", "merlond.js"), args),
    merlonctl: args => script(join(home, "bin", "merlonctl.js"), args),
    sample: (name, args) => script(join(samples ?? "", "dist", `${name}.js`), args),
    watchingParent: launch => ({ ...launch, args: ["--import", watchdog, ...launch.args] }),
  }
}

function packageFolder(from: string): string {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "bin", "merlond.js"))) return folder
    if (dirname(folder) === folder) {
      throw new CommandError(
        "not-built",
        "`merlond` does not lie beside `merlonctl`; run `npm run build`, or install it anew",
      )
    }
  }
}
