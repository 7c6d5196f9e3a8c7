// SPDX-License-Identifier: Apache-2.0
// The programs are run, not imported; this is for the generated page of errors.

export { CLI_ERRORS, EXIT_CODES, PROVED_FINDINGS } from "./errors.js"
