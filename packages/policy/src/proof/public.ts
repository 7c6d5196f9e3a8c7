// SPDX-License-Identifier: Apache-2.0
// What other packages may use of proofs: answers that hold for every request, with an example request where there is one.

export { DEFAULT_PROOF_LIMITS, type Limits } from "./budget.js"
export { CERTIFICATE_FORMAT, Certificate, NotCertified } from "./certificate/certificate.js"
export { describeWitness } from "./describe-witness.js"
export { OUTCOMES, type Outcome } from "./outcome.js"
export {
  type Assessment,
  type AssessOptions,
  assessChange,
  couldBreak,
  describeViolation,
  type PolicyStep,
} from "./questions/assess-change.js"
export {
  type CertifiedEffect,
  type CertifiedOptions,
  type ChangeEvidence,
  certifiedEffect,
} from "./questions/certified-effect.js"
export { type ChangeEffect, changeEffect, type EffectRegion } from "./questions/change-effect.js"
export { type Change, type CompareOptions, type Comparison, compareSets } from "./questions/compare.js"
export { type DeadRule, type DeadRuleOptions, type DeadRules, deadRules } from "./questions/dead-rules.js"
export { type Diff, type DiffGroup, type DiffOptions, diffSets } from "./questions/diff.js"
export {
  type CheckedInvariant,
  type CheckOptions,
  checkInvariants,
  type InvariantRule,
  type InvariantVerdict,
  isAbout,
} from "./questions/invariants.js"
export { type Reach, type ReachOptions, reachOf, type Way } from "./questions/reach.js"
export { concerns, DocumentsByNamespace } from "./selected.js"
export type { Witness, WitnessToken } from "./witness.js"
export { describeRule, ruleWords } from "./words.js"
export { callersAmong, identityOf, lastingName, OF_ONE_POD, type ProofWorkload, workloadsCalled } from "./workload.js"
