// SPDX-License-Identifier: Apache-2.0
// The version: printed by the programs, and the tag of the image that is installed and injected. A test compares it with
// package.json.

export const VERSION = "0.1.0"
export const DEFAULT_IMAGE = `merlon:${VERSION}`
