// SPDX-License-Identifier: Apache-2.0
// `@merlon/wire/native`: functions of the C library that Node lacks.

export { CONTROL_PLANE_BUFFERS, type LargeBuffers, mapLargeBuffers } from "./large-buffers.js"
export { type Destination, type Libc, loadLibc, type Unavailable } from "./libc.js"
