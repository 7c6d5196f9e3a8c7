// SPDX-License-Identifier: Apache-2.0
// Beginnings for common wishes, in plain words. What stands in capitals is to be filled in.

import type { Names } from "../../api/client.js"
import { VERSION } from "../../api/kinds.js"

export interface Template {
  readonly id: string
  readonly wish: string
  readonly text: (names: Names) => string
}

function security(kind: string, spec: string): (names: Names) => string {
  return ({ securityGroup }) => `apiVersion: ${securityGroup}/${VERSION}
kind: ${kind}
metadata:
  name: my-policy
  namespace: default
spec:
${spec}`
}

export const TEMPLATES: readonly Template[] = [
  {
    id: "allow-one",
    wish: "Let one caller in",
    text: security(
      "AuthorizationPolicy",
      `  selector:
    matchLabels:
      app: web
  action: ALLOW
  rules:
    - from:
        - source:
            principals: [cluster.local/ns/default/sa/caller]
      to:
        - operation:
            methods: [GET, HEAD]
`,
    ),
  },
  {
    id: "deny-path",
    wish: "Keep everybody from a path",
    text: security(
      "AuthorizationPolicy",
      `  selector:
    matchLabels:
      app: web
  action: DENY
  rules:
    - to:
        - operation:
            paths: [/admin*]
`,
    ),
  },
  {
    id: "strict",
    wish: "Insist on mutual TLS",
    text: security("PeerAuthentication", "  mtls:\n    mode: STRICT\n"),
  },
  {
    id: "token",
    wish: "Believe an issuer's tokens",
    text: security(
      "RequestAuthentication",
      `  selector:
    matchLabels:
      app: web
  jwtRules:
    - issuer: https://issuer.example
      jwksUri: https://issuer.example/.well-known/jwks.json
`,
    ),
  },
  {
    id: "require-token",
    wish: "Ask for a token",
    text: security(
      "AuthorizationPolicy",
      `  selector:
    matchLabels:
      app: web
  action: DENY
  rules:
    - from:
        - source:
            notRequestPrincipals: ["*"]
`,
    ),
  },
  {
    id: "invariant",
    wish: "State what must stay true",
    text: security(
      "PolicyInvariant",
      `  never:
    - name: nobody without mutual TLS reaches /admin
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
