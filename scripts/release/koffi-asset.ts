// SPDX-License-Identifier: Apache-2.0
// What calls the C library, inside of an executable.

import { loadAddon } from "./addon-asset.js"

export default loadAddon("koffi.node")
