// SPDX-License-Identifier: Apache-2.0
// The example of the reference page, below `apiVersion` and `kind`.

export const policyInvariantExample = `metadata:
  name: admin
  namespace: foo
spec:
  selector:
    matchLabels:
      app: httpbin
  never:
  - name: only ops reaches /admin
    from:
    - source:
        notNamespaces: [ops]
    to:
    - operation:
        paths: ["/admin/*"]
  always:
  - name: the consumer may read health
    from:
    - source:
        principals: ["cluster.local/ns/app/sa/consumer"]
    to:
    - operation:
        methods: [GET]
        paths: [/health]
`
