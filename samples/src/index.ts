// SPDX-License-Identifier: Apache-2.0
// The samples are programs; what they are made of is here for whoever wants to run one inside a process.

export { echo } from "./echo.js"
export { greeting } from "./greeting.js"
export { addressOf, listen, type Settings, settingsOf } from "./serve.js"
