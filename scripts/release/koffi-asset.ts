// SPDX-License-Identifier: Apache-2.0
// koffi, which calls the C library, inside an executable.

import { loadAddon } from "./addon-asset.js"

export default loadAddon("koffi.node")
