#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The program that runs on machines and in Pods; users type merlonctl.

import cluster from "node:cluster"
import { labelled } from "./describe-error.js"
import { merlondProgram } from "./merlond-program.js"

async function main(): Promise<void> {
  const program = await merlondProgram(process.argv[2] ?? "")
  await program.parseAsync()
}

async function run(): Promise<void> {
  if (cluster.isPrimary) await main()
  else (await import("./commands/xserver.js")).runWorker()
}

run().catch((error: unknown) => {
  process.stderr.write(`merlond: ${labelled(error)}\n`)
  process.exit(1)
})
