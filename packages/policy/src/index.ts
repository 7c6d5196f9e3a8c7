// SPDX-License-Identifier: Apache-2.0
// The library: everything of it, for programs of others. docs/policy-library.md shows it by example, in the order of use:
// documents are read and validated (`readDocuments`, `validate`), compiled for a workload (`compile`), a request is judged
// (`judge`) and explained (`explain`); a set is looked through (`analyze`), proven (`checkInvariants`, `diffSets`, `reachOf`)
// and tested (`runTests`). Our own packages import its parts, `@merlon/policy/proof` for example, so that a command loads
// only what it uses.

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
