// SPDX-License-Identifier: Apache-2.0
// Templates for common policies.

import type { Names } from "../../api/client.js"
import { VERSION } from "../../api/kinds.js"
import type { Pod } from "../../api/objects.js"

export interface Template {
  readonly id: string
  readonly title: string
  readonly text: (names: Names, trustDomain: string) => string
}

const LABEL = "app: web"
const CALLER = "ns/default/sa/caller"
/** Without `ports`, a DENY rule with HTTP conditions denies everything on TCP ports. */
const PORTS = 'ports: ["8080"]'
const SELECTOR = `  selector:
    matchLabels:
      ${LABEL}
`

function security(kind: string, spec: string): Template["text"] {
  return ({ securityGroup }, trustDomain) => `apiVersion: ${securityGroup}/${VERSION}
kind: ${kind}
metadata:
  name: my-policy
  namespace: default
spec:
${spec.replace("TRUST-DOMAIN", trustDomain)}`
}

/** An AuthorizationPolicy for the workloads with one label. */
function authorization(action: "ALLOW" | "DENY", rule: string): Template["text"] {
  return security("AuthorizationPolicy", `${SELECTOR}  action: ${action}\n  rules:\n${rule}`)
}

export const TEMPLATES: readonly Template[] = [
  {
    id: "allow-one",
    title: "Allow one caller",
    text: authorization(
      "ALLOW",
      `    - from:
        - source:
            principals:
              - TRUST-DOMAIN/${CALLER}
      to:
        - operation:
            methods: [GET, HEAD]
`,
    ),
  },
  {
    id: "deny-path",
    title: "Block a path",
    text: authorization(
      "DENY",
      `    - to:
        - operation:
            paths: [/admin*]
            ${PORTS}
`,
    ),
  },
  {
    id: "strict",
    title: "Require mTLS",
    text: security("PeerAuthentication", "  mtls:\n    mode: STRICT\n"),
  },
  {
    id: "token",
    title: "Trust a token issuer",
    text: security(
      "RequestAuthentication",
      `${SELECTOR}  jwtRules:
    - issuer: https://issuer.example
      jwksUri: https://issuer.example/.well-known/jwks.json
`,
    ),
  },
  {
    id: "require-token",
    title: "Require a token",
    text: authorization(
      "DENY",
      `    - from:
        - source:
            notRequestPrincipals: ["*"]
      to:
        - operation:
            ${PORTS}
`,
    ),
  },
  {
    id: "invariant",
    title: "Add an invariant",
    text: security(
      "PolicyInvariant",
      `  never:
    - name: no caller without mTLS reaches /admin
      from:
        - source:
            notPrincipals: ["*"]
      to:
        - operation:
            paths: [/admin*]
`,
    ),
  },
]

/**
 * Fills in a template: the namespace, or else one that has workloads, the label and the ports of a workload there, and the
 * identity of another workload as the caller.
 */
export function fitted(text: string, pods: readonly Pod[], namespace: string | undefined): string {
  const where = namespace ?? pods.flatMap(pod => pod.metadata.namespace ?? []).sort()[0]
  if (where === undefined) return text
  const near = pods.filter(pod => pod.metadata.namespace === where && /^[\w.-]+$/.test(pod.metadata.labels?.app ?? ""))
  const workload = near.find(pod => labelOf(pod) === LABEL) ?? near[0]
  const others = workload === undefined ? [] : pods.filter(pod => accountOf(pod) !== accountOf(workload))
  const caller = others.find(pod => pod.metadata.namespace === where) ?? others[0]
  const ports =
    workload?.spec?.containers?.flatMap(({ ports = [] }) => ports.map(one => `"${one.containerPort}"`)) ?? []
  return text
    .replace("namespace: default", () => `namespace: ${where}`)
    .replace(LABEL, () => (workload === undefined ? LABEL : labelOf(workload)))
    .replace(PORTS, () => (ports.length === 0 ? PORTS : `ports: [${[...new Set(ports)].join(", ")}]`))
    .replace(CALLER, () => (caller === undefined ? CALLER : accountOf(caller)))
}

const labelOf = ({ metadata }: Pod): string => `app: ${metadata.labels?.app}`

const accountOf = ({ metadata, spec }: Pod): string =>
  `ns/${metadata.namespace}/sa/${spec?.serviceAccountName ?? "default"}`
