// SPDX-License-Identifier: Apache-2.0
// The parts that the kinds share: which workloads a policy selects, and whether it is enforced or in shadow mode.

import { GATEWAY_GROUP, GATEWAY_TARGET_KINDS } from "../mesh/names.js"
import { type CelRule, choice, closed, list, optional, record, type TypeOf, text } from "./schema.js"

export const TARGET_KINDS =
  "a target must be a Service, or a Gateway, HTTPRoute or GRPCRoute of the group `gateway.networking.k8s.io`"
export const ONLY_SERVICES =
  "a target of a PeerAuthentication must be a Service: a gateway accepts its callers' connections itself"

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
    "x-rejected": {
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

const SERVICE_GROUPS = ["", "core"]
const quoted = (texts: readonly string[]): string => texts.map(text => `'${text}'`).join(", ")
/** A label names the Gateway or route that an authorizer decides for, and label values are limited to this length. */
export const MAX_GATEWAY_TARGET_NAME = 63

function targetList(kinds: readonly string[], groups: readonly string[], wanted: string, description: string) {
  const others = kinds.length > 1
  const target = closed(
    {
      group: optional(
        text({
          description: `The API group of the target. Empty, or \`core\`, for a Service; absent means the same.${others ? ` \`${GATEWAY_GROUP}\` for the other kinds.` : ""}`,
          maxLength: 253,
          "x-kubernetes-validations": [{ rule: `self in [${quoted(groups)}]`, message: wanted }],
        }),
      ),
      kind: text({
        description: `The kind of the target: ${kinds.map(kind => `\`${kind}\``).join(", ")}.`,
        minLength: 1,
        maxLength: 63,
        "x-kubernetes-validations": [{ rule: `self in [${quoted(kinds)}]`, message: wanted }],
      }),
      name: text({
        description: "The name of the target. It is looked for in the policy's own namespace.",
        minLength: 1,
        maxLength: 253,
        "x-problem": { minLength: "targetRef name must be set" },
      }),
    },
    {
      description: "One target.",
      "x-rejected": {
        namespace: {
          problem: "targetRef namespace must not be set; cross namespace referencing is not supported",
          fix: "remove `namespace`, and keep the policy in the namespace of the target",
        },
        sectionName: {
          problem: "`sectionName` is not supported: a policy applies to every port of the workloads behind a target",
          fix: "remove `sectionName`, and name the port by `to.operation.ports` or `portLevelMtls`",
        },
      },
      ...(others && {
        "x-kubernetes-validations": [
          {
            rule: `(self.kind == 'Service') == (!has(self.group) || self.group in [${quoted(SERVICE_GROUPS)}])`,
            message: wanted,
          },
          {
            rule: `self.kind == 'Service' || self.name.size() <= ${MAX_GATEWAY_TARGET_NAME}`,
            message: `the name of a Gateway or a route must have at most ${MAX_GATEWAY_TARGET_NAME} characters here`,
          },
        ],
      }),
    },
  )
  return list(target, {
    description,
    minItems: 1,
    maxItems: 16,
    "x-problem": { minItems: "`targetRefs`, if defined, must name at least one target" },
    "x-fix": "name a Service, for example `targetRefs: [{kind: Service, name: web}]`, or remove the field",
  })
}

const OF_SERVICES =
  "the policy applies to the workloads that the selector of one of them selects, whatever way they are called. As long as a Service does not exist, nothing stands behind it."

export const targetRefs = targetList(
  ["Service", ...GATEWAY_TARGET_KINDS],
  [...SERVICE_GROUPS, GATEWAY_GROUP],
  TARGET_KINDS,
  `What the policy applies to in its own namespace, instead of \`selector\`. Services: ${OF_SERVICES} A Gateway, HTTPRoute or GRPCRoute: the policy applies to the authorizers whose labels say that they decide for it, whether or not the Gateway API is installed.`,
)

/** For PeerAuthentications. */
export const serviceTargetRefs = targetList(
  ["Service"],
  SERVICE_GROUPS,
  ONLY_SERVICES,
  `Services of the policy's own namespace, instead of \`selector\`: ${OF_SERVICES}`,
)

export type TargetRef = TypeOf<typeof targetRefs>[number]

export const oneScope: CelRule = {
  rule: "!(has(self.selector) && has(self.targetRefs))",
  message: "only one of targetRefs or selector can be set",
}

/** The spelling of targets that other meshes introduced first. */
export const formerTarget = {
  targetRef: {
    problem: "`targetRef` has been replaced by the list `targetRefs`",
    fix: "write `targetRefs: [{kind: Service, name: web}]`",
  },
} as const

const OUTLIVES_SERVICES =
  "an invariant applies to workloads, not Services: with `%`, deleting a Service would silently disable it"
const BY_LABELS = "select the workloads by `selector.matchLabels`, with the labels that the Service's own selector has"

/** For PolicyInvariants, which select by labels only. */
export const labelsAlone = {
  targetRef: { problem: OUTLIVES_SERVICES.replace("%", "targetRef"), fix: BY_LABELS },
  targetRefs: { problem: OUTLIVES_SERVICES.replace("%", "targetRefs"), fix: BY_LABELS },
} as const

/** A list of non-empty texts; `found` is the field's name as the error about an empty one spells it. */
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
