// SPDX-License-Identifier: Apache-2.0
// The independent checker of certificates, for tests; programs call `proof-check`.

export { checkCertificate } from "./check.js"
export { type Policy, readPolicy } from "./policies.js"
export { documentsIn, Invalid } from "./read.js"
