// SPDX-License-Identifier: Apache-2.0
// Which version this is: what the programs say, and the tag of the image that is installed and injected. A test holds it to
// package.json.

export const VERSION = "0.1.0"
export const DEFAULT_IMAGE = `merlon:${VERSION}`
