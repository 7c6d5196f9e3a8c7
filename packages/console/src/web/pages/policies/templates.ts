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

/** Of the workloads with one label. */
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
            principals: [TRUST-DOMAIN/ns/default/sa/caller]
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

/** A template's text with the namespace, else one that has workloads, and with a label of a workload there. */
export function fitted(text: string, pods: readonly Pod[], namespace: string | undefined): string {
  const where = namespace ?? pods.flatMap(pod => pod.metadata.namespace ?? []).sort()[0]
  if (where === undefined) return text
  const labels = pods
    .filter(pod => pod.metadata.namespace === where)
    .flatMap(pod => Object.entries(pod.metadata.labels ?? {}).map(([key, value]) => `${key}: ${value}`))
  const label = labels.includes(LABEL) ? LABEL : (labels.find(one => /^app: [\w.-]+$/.test(one)) ?? LABEL)
  return text.replace("namespace: default", () => `namespace: ${where}`).replace(LABEL, () => label)
}
