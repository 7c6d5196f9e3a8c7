// SPDX-License-Identifier: Apache-2.0
// The example of the reference page, below `apiVersion` and `kind`.

export const authorizationPolicyExample = `metadata:
  name: readers
  namespace: foo
spec:
  selector:
    matchLabels:
      app: httpbin
  action: ALLOW
  rules:
  - from:
    - source:
        requestPrincipals: ["https://issuer.example/*"]
    to:
    - operation:
        methods: [GET, HEAD]
        paths: ["/status/*", "/users/{*}/profile"]
    when:
    - key: request.auth.claims[groups]
      values: [readers]
`
