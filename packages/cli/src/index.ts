// SPDX-License-Identifier: Apache-2.0
// Nothing imports the hands; this names what they are made of, for tests and for the page of faults.

export { xserverCommand } from "./commands/xserver.js"
export { CLI_FAULTS } from "./errors.js"
