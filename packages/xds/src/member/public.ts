// SPDX-License-Identifier: Apache-2.0
// What other packages use of a member of the mesh: the settings it starts with.

export { type ApplicationProbe, type Bootstrap, readBootstrap } from "./bootstrap.js"
export { ConfigurationError, readSettings } from "./configuration-error.js"
