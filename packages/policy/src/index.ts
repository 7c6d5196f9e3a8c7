// SPDX-License-Identifier: Apache-2.0
// The whole library, for other programs. docs/policy-library.md shows it by example, in the order of use: read and
// validate documents (`readDocuments`, `validate`), compile them for a workload (`compile`), judge a request (`judge`)
// and explain the decision (`explain`); analyze a set (`analyze`), prove facts about it (`checkInvariants`, `diffSets`,
// `reachOf`) and test it (`runTests`). Our own packages import parts such as `@merlon/policy/proof`, so that a command
// loads only what it uses.

export * from "./analysis/public.js"
export * from "./authorization/public.js"
export * from "./ledger/public.js"
export * from "./mesh/public.js"
export * from "./policy-tests/public.js"
export * from "./proof/public.js"
export * from "./request/public.js"
export * from "./resources/public.js"
export * from "./selection/public.js"
export * from "./shape/public.js"
export * from "./tokens/public.js"
export * from "./trial/public.js"
