// SPDX-License-Identifier: Apache-2.0
// What the kinds share: the workloads a policy selects, and whether it is enforced or in shadow mode.

import { type CelRule, choice, closed, list, optional, record, type TypeOf, text } from "./schema.js"

export const ONLY_SERVICES =
  "a target must be a Service: every workload has a proxy of its own here, and there are no gateways or waypoints"

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

const targetRef = closed(
  {
    group: optional(
      text({
        description: "The API group of the target. Empty, or `core`, for a Service; absent means the same.",
        maxLength: 253,
        "x-kubernetes-validations": [{ rule: "self in ['', 'core']", message: ONLY_SERVICES }],
      }),
    ),
    kind: text({
      description: "The kind of the target: `Service`.",
      minLength: 1,
      maxLength: 63,
      "x-kubernetes-validations": [{ rule: "self == 'Service'", message: ONLY_SERVICES }],
    }),
    name: text({
      description: "The name of the Service. It is looked for in the policy's own namespace.",
      minLength: 1,
      maxLength: 253,
      "x-problem": { minLength: "targetRef name must be set" },
    }),
  },
  {
    description: "One Service.",
    "x-refused": {
      namespace: {
        problem: "targetRef namespace must not be set; cross namespace referencing is not supported",
        fix: "remove `namespace`, and keep the policy in the namespace of the Service",
      },
      sectionName: {
        problem: "`sectionName` is not supported: a policy applies to every port of the workloads behind a Service",
        fix: "remove `sectionName`, and name the port by `to.operation.ports` or `portLevelMtls`",
      },
    },
  },
)

export const targetRefs = list(targetRef, {
  description:
    "Services of the policy's own namespace, instead of `selector`: the policy applies to the workloads that the selector of one of them selects, whatever way they are called. As long as a Service does not exist, nothing stands behind it.",
  minItems: 1,
  maxItems: 16,
  "x-problem": { minItems: "`targetRefs`, if defined, must name at least one Service" },
  "x-fix": "name a Service, for example `targetRefs: [{kind: Service, name: web}]`, or remove the field",
})

export type TargetRef = TypeOf<typeof targetRef>

export const oneScope: CelRule = {
  rule: "!(has(self.selector) && has(self.targetRefs))",
  message: "only one of targetRefs or selector can be set",
}

/** The spelling of targets that other meshes had first. */
export const formerTarget = {
  targetRef: {
    problem: "`targetRef` has been replaced by the list `targetRefs`",
    fix: "write `targetRefs: [{kind: Service, name: web}]`",
  },
} as const

const OUTLIVES_SERVICES =
  "an invariant applies to workloads, not Services: with `%`, deleting a Service would silently disable it"
const BY_LABELS = "select the workloads by `selector.matchLabels`, with the labels that the Service's own selector has"

/** For statements, which go by labels alone. */
export const labelsAlone = {
  targetRef: { problem: OUTLIVES_SERVICES.replace("%", "targetRef"), fix: BY_LABELS },
  targetRefs: { problem: OUTLIVES_SERVICES.replace("%", "targetRefs"), fix: BY_LABELS },
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
