// SPDX-License-Identifier: Apache-2.0
// `merlonctl version`: which one this is, and on what it runs; what a report of a fault begins with.

import { Command } from "commander"
import { VERSION } from "../../version.js"
import { print } from "../terminal.js"

export function versionCommand(): Command {
  return new Command("version")
    .description("say which version this is, and on what it runs")
    .addHelpText("after", "\nExample:\n  merlonctl version")
    .action(() => print(`merlonctl ${VERSION} (node ${process.version}, ${process.platform} ${process.arch})`))
}
