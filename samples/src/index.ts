// SPDX-License-Identifier: Apache-2.0
// The samples are programs; these exports let tests run them in a process.

export { echo } from "./echo.js"
export { greeting } from "./greeting.js"
export { addressOf, listen, type Settings, settingsOf } from "./serve.js"
