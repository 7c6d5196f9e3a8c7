#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The program that runs on machines and in pods. What people type is merlonctl.

import cluster from "node:cluster"
import { runWorker } from "@merlon/xserver"
import { Command } from "commander"
import { clusterCommand } from "./commands/cluster.js"
import { xserverCommand } from "./commands/xserver.js"
import { describeError } from "./describe-error.js"

async function main(): Promise<void> {
  const program = new Command("merlond")
    .description("mesh security policy: what runs on machines and in pods")
    .showHelpAfterError("(merlond COMMAND --help explains)")
    .addCommand(clusterCommand())
    .addCommand(xserverCommand())
  await program.parseAsync()
}

if (cluster.isWorker) runWorker()
else {
  main().catch((error: unknown) => {
    process.stderr.write(`merlond: ${describeError(error)}\n`)
    process.exit(1)
  })
}
