// SPDX-License-Identifier: Apache-2.0
// Required into programs that are tried out: when one ends, it leaves what V8 has compiled of its scripts until then.

"use strict"

const { writeFileSync } = require("node:fs")
const v8 = require("node:v8")
const vm = require("node:vm")
const { isMainThread } = require("node:worker_threads")

let made = []

function leave() {
  for (const [file, script] of made ?? []) writeFileSync(`${file}.code.${process.pid}`, script.createCachedData())
  made = undefined
}

if (isMainThread) {
  const { Script } = vm
  vm.Script = class extends Script {
    constructor(source, options) {
      super(source, { ...options, cachedData: undefined })
      if (/[/\\]ahead[/\\][^/\\]+[/\\][^/\\]+\.js$/.test(options?.filename ?? "")) made?.push([options.filename, this])
    }
  }
  // V8 takes compiled code only under the flags that it was left under, and a program sets its own when it has begun.
  const { setFlagsFromString } = v8
  v8.setFlagsFromString = flags => {
    // Those that a program is started with come before its first script.
    if (made?.length !== 0) leave()
    setFlagsFromString(flags)
  }
  process.on("exit", leave)
}
