// SPDX-License-Identifier: Apache-2.0
// The example of the reference page, below `apiVersion` and `kind`.

export const requestAuthenticationExample = `metadata:
  name: httpbin
  namespace: foo
spec:
  selector:
    matchLabels:
      app: httpbin
  jwtRules:
  - issuer: https://issuer.example
    jwksUri: https://issuer.example/.well-known/jwks.json
    audiences: [httpbin]
    fromHeaders:
    - name: Authorization
      prefix: "Bearer "
    outputClaimToHeaders:
    - header: x-jwt-subject
      claim: sub
`
