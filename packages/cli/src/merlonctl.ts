#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The program that users type. merlond runs on machines and in Pods.

import { basename } from "node:path"
import { runProgram } from "./ctl/program.js"

// The reader of our output may close the pipe early, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1))

// kubectl runs a program of this name as a plugin.
const isPlugin = [process.argv0, process.argv[1] ?? ""].some(path => basename(path) === "kubectl-merlon")

// No top-level await: executables contain this as a script.
void runProgram(process.argv.slice(2), isPlugin ? "kubectl merlon" : "merlonctl")
