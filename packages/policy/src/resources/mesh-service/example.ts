// SPDX-License-Identifier: Apache-2.0
// The example of the reference page, below `apiVersion` and `kind`.

export const meshServiceExample = `metadata:
  name: web
  namespace: app
spec:
  hosts: [web]
  trafficPolicy:
    tls:
      mode: DUBBO_MUTUAL
  rules:
  - match:
    - headers:
        x-canary:
          exact: "true"
    route:
    - service:
      - host: web
        name: v2
        labels: {version: v2}
  routes:
  - service:
    - host: web
      name: v1
      labels: {version: v1}
      weight: 90
    - host: web
      name: v2
      labels: {version: v2}
      weight: 10
`
