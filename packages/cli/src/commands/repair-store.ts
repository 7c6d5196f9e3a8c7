// SPDX-License-Identifier: Apache-2.0
// `merlond repair-store`: shows what a damaged embedded store has lost, and keeps the rest if the user accepts the loss.

import { repairEmbeddedStore } from "@merlon/cluster/store"
import { Command } from "commander"

export function repairStoreCommand(): Command {
  return new Command("repair-store")
    .description("Show what a damaged embedded store has lost, or repair it")
    .argument("<folder>", "folder of the store, as the error names it; its server must be stopped")
    .option("--accept-loss", "replace the store with what can be read; the damaged files are kept beside it")
    .action((folder: string, { acceptLoss = false }: { acceptLoss?: boolean }) => run(folder, acceptLoss))
}

async function run(folder: string, accept: boolean): Promise<void> {
  const { damage, objects, damagedFolder } = await repairEmbeddedStore(folder, accept)
  const lines = damage.map(each => `  ${each}\n`).join("")
  if (damage.length === 0) process.stdout.write(`the store is intact: ${objects} objects\n`)
  else if (damagedFolder === undefined) {
    process.stdout.write(
      `${lines}${objects} objects can be kept. Restore a backup, or accept the loss: --accept-loss\n`,
    )
    process.exitCode = 1
  } else {
    process.stdout.write(
      `${lines}${objects} objects are kept; the damaged files are in \`${damagedFolder}\`. Compare your policies with their sources, and apply again what is missing\n`,
    )
  }
}
