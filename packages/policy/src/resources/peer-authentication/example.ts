// SPDX-License-Identifier: Apache-2.0
// The example of the reference page, below `apiVersion` and `kind`.

export const peerAuthenticationExample = `metadata:
  name: httpbin
  namespace: foo
spec:
  selector:
    matchLabels:
      app: httpbin
  mtls:
    mode: STRICT
  portLevelMtls:
    "9090":
      mode: PERMISSIVE
`
