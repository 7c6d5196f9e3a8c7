// SPDX-License-Identifier: Apache-2.0
// PolicyInvariant: what must stay true under all policies. An entry is written like a rule of an AuthorizationPolicy,
// so that users need no second language; an absent field means any value.

import { rule as authorizationRule } from "../authorization-policy/definition.js"
import { enforcement, labelsAlone, selector } from "../common.js"
import { closed, list, optional, type TypeOf, text } from "../schema.js"

const MAX_RULES = 64

const rule = closed(
  {
    name: text({
      description: "Name of the rule; part of every message about it.",
      minLength: 1,
      maxLength: 200,
      "x-fix": "write what must hold in a few words, as `only ops reaches /admin`",
    }),
    ...authorizationRule.properties,
  },
  {
    description:
      "Requests, written like a rule of an AuthorizationPolicy: `from`, `to` and `when` must all match; what is not mentioned may be anything.",
  },
)

export const policyInvariantSpec = closed(
  {
    selector: optional(selector),
    enforcement: optional(enforcement),
    never: optional(
      list(rule, {
        description: "Holds if no request that matches is allowed.",
        maxItems: MAX_RULES,
      }),
    ),
    always: optional(
      list(rule, {
        description:
          "Holds if every request that matches is allowed. Requests carry no token or a valid one here: an invalid one is denied by every policy.",
        maxItems: MAX_RULES,
      }),
    ),
  },
  {
    description:
      "What must stay true of the selected workloads. A policy change that would break a rule is rejected, with a request that shows it; with `enforcement: Shadow` there is a warning instead.",
    "x-rejected": labelsAlone,
    "x-kubernetes-validations": [
      {
        rule: "(has(self.never) && size(self.never) > 0) || (has(self.always) && size(self.always) > 0)",
        message: "a PolicyInvariant without rules has no effect, add `never` or `always`",
      },
    ],
  },
)

export type InvariantRuleSpec = TypeOf<typeof rule>
export type PolicyInvariantSpec = TypeOf<typeof policyInvariantSpec>
