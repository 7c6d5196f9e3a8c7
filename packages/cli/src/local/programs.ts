// SPDX-License-Identifier: Apache-2.0
// Where the programs of the local mesh lie, seen from wherever this code runs: its source, its build or its bundle.

import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { CommandError } from "../ctl/exit.js"

export interface Programs {
  readonly merlond: string
  readonly merlonctl: string
  /** Loaded first into whatever must not outlive its supervisor; as a URL. */
  readonly leash: string
  /** Folder of the samples; undefined where they did not come along. */
  readonly samples: string | undefined
}

export function findPrograms(from = fileURLToPath(import.meta.url)): Programs {
  const home = packageFolder(from)
  const samples = join(home, "..", "..", "samples")
  return {
    merlond: join(home, "bin", "merlond.js"),
    merlonctl: join(home, "bin", "merlonctl.js"),
    leash: pathToFileURL(join(home, "bundle", "local", "leash.js")).href,
    samples: existsSync(join(samples, "dist", "httpbin.js")) ? samples : undefined,
  }
}

function packageFolder(from: string): string {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "bin", "merlond.js"))) return folder
    if (dirname(folder) === folder) {
      throw new CommandError("`merlond` does not lie beside `merlonctl`; run `npm run build`, or install it anew")
    }
  }
}
