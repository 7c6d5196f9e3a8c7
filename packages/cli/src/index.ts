// SPDX-License-Identifier: Apache-2.0
// The programs are run, not imported; this is for tests of them and for the page of faults.

export { xserverCommand } from "./commands/xserver.js"
export { CLI_FAULTS } from "./errors.js"
