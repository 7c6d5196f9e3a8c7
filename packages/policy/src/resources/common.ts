// SPDX-License-Identifier: Apache-2.0
// What the kinds share: which workloads a policy is about, and whether it is enforced or only observed.

import { choice, closed, list, optional, record, type TypeOf, text } from "./schema.js"

const labelValue = text({
  description: "The value the label must have.",
  maxLength: 63,
  "x-kubernetes-validations": [{ rule: "!self.contains('*')", message: "wildcard not allowed in label value match" }],
})

export const selector = closed(
  {
    matchLabels: optional(
      record(labelValue, {
        description: "Labels a workload must all have. None means every workload in scope.",
        maxProperties: 4096,
        "x-kubernetes-validations": [
          { rule: "self.all(key, !key.contains('*'))", message: "wildcard not allowed in label key match" },
          { rule: "self.all(key, key.size() != 0)", message: "key must not be empty" },
        ],
      }),
    ),
  },
  {
    description:
      "The workloads the policy applies to. Absent, it applies to every workload of its namespace; in the root namespace, to every workload of the mesh.",
    "x-refused": {
      matchExpressions: {
        problem: "`matchExpressions` is not supported in a workload selector",
        fix: "write the labels as `matchLabels`, and one policy per alternative",
      },
    },
  },
)

export type WorkloadSelector = TypeOf<typeof selector>

export const enforcement = choice(["Enforce", "Shadow"], {
  description:
    "`Enforce` acts on the policy. `Shadow` evaluates and reports it (log, metric, status, decision record) without ever changing an outcome.",
  default: "Enforce",
})

export type Enforcement = TypeOf<typeof enforcement>

/** Fields of other meshes that name a gateway or a Service instead of labels. */
export const targetReferences = {
  targetRef: {
    problem: "`targetRef` is not supported yet",
    fix: "select the workloads by `selector.matchLabels`",
  },
  targetRefs: {
    problem: "`targetRefs` is not supported yet",
    fix: "select the workloads by `selector.matchLabels`",
  },
} as const

/** A list of texts none of which is empty; `found` is the field's name as the refusal of an empty one spells it. */
export function values(description: string, found: string, maxItems = 4096) {
  return list(
    text({
      description: "One value.",
      minLength: 1,
      "x-problem": { minLength: `empty value not allowed, found in ${found}` },
      "x-fix": "write a value, or `*` for any that is not empty",
    }),
    { description, maxItems },
  )
}
