// SPDX-License-Identifier: Apache-2.0
// Nothing imports the hands; this names what they are made of, for tests.

export { xserverCommand } from "./commands/xserver.js"
