// SPDX-License-Identifier: Apache-2.0
// Behaviour that depends on names, in a mesh of another name, with kubectl in place of merlonctl.
// @module-tag needs/curl
// @module-tag needs/kubectl

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { dependingOnNames } from "./suites/all.js"
import { DUBBO, Mission, succeeded } from "./support/mission.js"

let mission: Mission
beforeAll(async () => {
  mission = await Mission.start(DUBBO)
})
afterAll(() => mission.stop())

describe("with `--mesh dubbo --domain dubbo.apache.org`, and with kubectl in place of merlonctl", () => {
  dependingOnNames(() => mission)

  it("manifests written for that mesh apply unchanged", async () => {
    await mission.apply(`
apiVersion: v1
kind: Namespace
metadata:
  name: bar
  labels:
    dubbo-injection: enabled
---
apiVersion: security.dubbo.apache.org/v1alpha3
kind: PeerAuthentication
metadata:
  name: default
  namespace: dubbo-system
spec:
  mtls:
    mode: STRICT
---
apiVersion: security.dubbo.apache.org/v1alpha3
kind: AuthorizationPolicy
metadata:
  name: deny-post
  namespace: foo
spec:
  action: DENY
  rules:
    - to:
        - operation:
            methods: [POST]
---
apiVersion: networking.dubbo.apache.org/v1alpha3
kind: MeshService
metadata:
  name: web
  namespace: app
spec:
  hosts: [web.app.svc.cluster.local]
  trafficPolicy:
    tls:
      mode: DUBBO_MUTUAL
  routes:
    - service:
        - {host: web.app.svc.cluster.local, name: v1, labels: {version: v1}, weight: 75}
        - {host: web.app.svc.cluster.local, name: v2, labels: {version: v2}, weight: 25}
`)
    await mission.enforced("peerauthentication", "default", "dubbo-system")
    await mission.enforced("authorizationpolicy", "deny-post", "foo")
    await mission.enforced("meshservice", "web", "app")
    expect((await mission.web()).status).toBe(0)
    expect(await mission.xclient("--expect", "v1=75,v2=25", "20")).toMatchObject({
      code: 0,
      out: "v1 15 75%\nv2 5 25%\n",
    })
    const listed = succeeded(await mission.ctl(["get", "pa,ap,ms", "-A", "-o", "name"]))
    expect(listed.out.trim().split("\n").sort()).toEqual([
      "authorizationpolicy.security.dubbo.apache.org/deny-post",
      "meshservice.networking.dubbo.apache.org/web",
      "peerauthentication.security.dubbo.apache.org/default",
    ])
  })
})
