// SPDX-License-Identifier: Apache-2.0
// Starts a program from code that V8 has compiled ahead, where scripts/compile-ahead.ts left some for this very version of
// Node: a process then starts with a third less work. Anywhere else there is none, and the bundle is read as it is. It runs under
// flags for processes of tests, so who starts a mesh to use it takes the bundle: at a terminal, or told so by `npm start`.

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { isatty } from "node:tty"
import { fileURLToPath } from "node:url"
import v8 from "node:v8"
import vm from "node:vm"

const BUNDLE = fileURLToPath(new URL("../bundle/", import.meta.url))
const AHEAD = join(BUNDLE, "ahead", `${process.version}-${process.arch}`)
const HEAD = "(function(exports,require,module,__filename,__dirname){"

const loaded = new Map()
const foreign = new Map()

/** Whether there is such a program; it has started then. */
export function startedAhead(name) {
  if (isMeantToLast()) return false
  const source = read(name)
  if (source === undefined) return false
  // Before anything is loaded: V8 takes compiled code only under the flags that it was left under.
  for (const flag of (read("flags")?.toString() ?? "").split("\n").filter(Boolean)) v8.setFlagsFromString(flag)
  load(name, source)
  return true
}

/** What it starts in its turn lasts as well. */
function isMeantToLast() {
  if (isatty(1)) process.env.COMPILED_AHEAD = "no"
  return process.env.COMPILED_AHEAD === "no"
}

function load(name, source) {
  const filename = join(AHEAD, name)
  const module = { exports: {} }
  loaded.set(name, module)
  // What V8 does not accept, for flags that change code as one reason, it compiles again.
  const script = new vm.Script(`${HEAD}${source.toString("latin1")}\n})`, {
    filename,
    columnOffset: -HEAD.length,
    cachedData: read(`${name}.code`),
  })
  // Whatever looks for something beside itself finds it in the bundle.
  const place = join(BUNDLE, name)
  const folder = dirname(place)
  const require = id => (/^\.\.?\/.*\.js$/.test(id) ? required(join(dirname(name), id)) : requireIn(folder)(id))
  script.runInThisContext().call(module.exports, module.exports, require, module, place, folder)
  return module.exports
}

/** One for all that lie in a folder: each is more work than most of these scripts. */
function requireIn(folder) {
  const made = foreign.get(folder) ?? createRequire(join(folder, "any.js"))
  foreign.set(folder, made)
  return made
}

function required(name) {
  const known = loaded.get(name)
  if (known !== undefined) return known.exports
  const source = read(name)
  if (source === undefined) throw new Error(`${join(AHEAD, name)} is missing; run \`npm run build\``)
  return load(name, source)
}

function read(name) {
  try {
    return readFileSync(join(AHEAD, name))
  } catch {
    return undefined
  }
}
