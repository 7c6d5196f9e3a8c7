// SPDX-License-Identifier: Apache-2.0
// The embedded store's native binary inside an executable.

import { loadAddon } from "./addon-asset.js"

module.exports = loadAddon("classic-level.node")
