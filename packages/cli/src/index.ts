// SPDX-License-Identifier: Apache-2.0
// The programs are run, not imported. These exports are for generated files: the errors page, man pages and shell
// completions.

export { type ShellFile, shellFiles } from "./ctl/completion/shell-files.js"
export { CLI_ERRORS, EXIT_CODES, PROVED_FINDINGS } from "./errors.js"
