// SPDX-License-Identifier: Apache-2.0
// Admission with the real kubectl and an API server that calls our webhooks over TLS, and what is stored afterwards.
// @module-tag needs/openssl

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Assessment, type MeshConfig, meshConfig, meshNames } from "@merlon/policy"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { kubectl } from "../../../packages/cluster/src/testing/kubectl.js"
import { admissionHandlers } from "../../../packages/control/src/admission/handlers.js"
import type { InjectionOptions } from "../../../packages/control/src/admission/injection-options.js"
import { WebhookServer } from "../../../packages/control/src/admission/webhook-server.js"
import { install } from "../../../packages/control/src/install/install.js"
import { connectionFrom } from "../../../packages/control/src/kubernetes/connection-from.js"
import { type HttpKubernetesClient, httpClient } from "../../../packages/control/src/kubernetes/http-client.js"
import {
  type KubernetesObject,
  NAMESPACES,
  PODS,
  policyTypes,
  SERVICES,
} from "../../../packages/control/src/kubernetes/resource-type.js"
import { selfSigned } from "../../../packages/control/src/kubernetes/testing/credentials.js"
import { Answering } from "../../../packages/control/src/proofs/answering.js"
import type { RemovalQuestion, ReviewQuestion } from "../../../packages/control/src/proofs/question.js"
import { type TestCluster, testCluster } from "./support/test-cluster.js"

interface Container {
  readonly name: string
  readonly ports?: readonly { readonly containerPort: number }[]
}
interface Pod extends KubernetesObject {
  readonly spec: { readonly containers: readonly Container[]; readonly initContainers?: readonly Container[] }
}
interface Service extends KubernetesObject {
  readonly spec: { readonly ports: readonly { readonly targetPort: number | string }[] }
}

/** In a cluster with one workload. */
function reviewOf(mesh: MeshConfig, question: ReviewQuestion | RemovalQuestion): Assessment {
  const answering = new Answering(mesh)
  const web = { namespace: "foo", name: "web-1", labels: { app: "web" } }
  answering.take({ documents: [], workloads: [["foo/web-1", web]] })
  return answering.answer(question, () => false)
}

describe.each([
  ["merlon", "merlon.dev", "redirect", false],
  ["dubbo", "dubbo.apache.org", "service", true],
] as const)(
  "admission in the mesh %s (needs kubectl)",
  { tags: ["needs/kubectl"] },
  (word, domain, capture, nativeSidecar) => {
    const names = meshNames({ mesh: word, domain })
    const mesh = meshConfig({ names })
    const xserver = `${word}-xserver`
    let folder: string
    let cluster: TestCluster
    let client: HttpKubernetesClient
    let server: WebhookServer
    let k: ReturnType<typeof kubectl>

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "admission-"))
      cluster = await testCluster(folder)
      k = kubectl(cluster.kubeconfigPath, folder)
      const connection = connectionFrom({ kubeconfig: cluster.kubeconfigPath, env: {} })
      client = httpClient(connection, { userAgent: "test", fieldManager: `${word}d` })
      const credentials = selfSigned(folder, "webhook")
      const injection: InjectionOptions = {
        names,
        image: "merlond:1",
        capture,
        nativeSidecar,
        controlPlane: { address: "control:15012", serverName: "control" },
      }
      const handlers = admissionHandlers({
        mesh,
        clusterDomain: "cluster.local",
        injection,
        proofs: {
          policies: { items: new Map() },
          prover: { review: async question => reviewOf(mesh, question) },
          cutOff: () => [],
          caughtUp: async () => false,
          isBeingDeleted: async () => false,
        },
        namespaceLabels: () => ({}),
        portsBehind: () => undefined,
      })
      server = new WebhookServer({ credentials, handlers, authenticate: path => path })
      const port = await server.listen(0, "127.0.0.1")
      await install({
        client,
        names,
        caBundle: credentials.certificate,
        webhook: { url: `https://127.0.0.1:${port}` },
        capture,
      })
      const namespace = (name: string, labels: { [key: string]: string }): KubernetesObject => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels },
      })
      await client.create(NAMESPACES, namespace("foo", { [names.injectionLabel]: "enabled" }))
      await client.create(NAMESPACES, namespace("bar", {}))
    })
    afterAll(async () => {
      await client.close()
      await cluster.close()
      await server.close()
      await rm(folder, { recursive: true, force: true })
    })

    const requestAuthentication = (jwksUri: string): string => `
apiVersion: ${names.securityGroup}/v1alpha3
kind: RequestAuthentication
metadata: {name: jwt, namespace: foo}
spec: {jwtRules: [{issuer: "https://issuer.example", jwksUri: ${JSON.stringify(jwksUri)}}]}
`
    const authorizationPolicy = (spec: string): string => `
apiVersion: ${names.securityGroup}/v1alpha3
kind: AuthorizationPolicy
metadata: {name: ap, namespace: foo}
spec: ${spec}
`
    const pod = (name: string, namespace: string, label = ""): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: ${namespace}${label === "" ? "" : `, labels: {${names.injectLabel}: ${JSON.stringify(label)}}`}}
spec:
  containers:
  - {name: app, image: app, ports: [{containerPort: 8080, name: http}, {containerPort: 9090}], readinessProbe: {httpGet: {port: http, path: /ready}}}
`

    it("rejects a relative jwksUri with field and reason, and stores nothing", async () => {
      const { code, err } = await k("apply -f -", requestAuthentication("/keys"))
      expect(code).toBe(1)
      expect(err).toContain("spec.jwtRules[0].jwksUri")
      expect(err).toMatch(/scheme|absolute|http/)
      expect(await client.get(policyTypes(names).RequestAuthentication, "jwt", "foo")).toBeUndefined()
      expect((await k("apply -f -", requestAuthentication("https://issuer.example/keys"))).code).toBe(0)
    })

    it("rejects what only the webhook checks, with every error at once", async () => {
      const spec = '{action: DENY, ruls: [], rules: [{when: [{key: "request.hedders[x]", values: [a]}]}]}'
      const { code, err } = await k("create --validate=false -f -", authorizationPolicy(spec))
      expect(code).toBe(1)
      expect(err).toContain(
        'The AuthorizationPolicy "ap" is invalid: \n* spec.ruls: unknown field `ruls`; did you mean `rules`?\n',
      )
      expect(err).toContain("* spec.rules[0].when[0].key: unknown attribute: request.hedders[x]; did you mean")
      expect(await client.get(policyTypes(names).AuthorizationPolicy, "ap", "foo")).toBeUndefined()
    })

    it("makes kubectl print warnings, from the document and from the cluster", async () => {
      const spec = "{selector: {matchLabels: {app: wbe}}, rules: [{to: [{operation: {methods: [get]}}]}]}"
      const { code, out, err } = await k("apply -f -", authorizationPolicy(spec))
      expect([code, out]).toEqual([0, `authorizationpolicy.${names.securityGroup}/ap created\n`])
      expect(err).toMatch(/^Warning: spec\.rules\[0\]\.to\[0\]\.operation\.methods\[0\]: /m)
      expect(err).toMatch(/^Warning: .*wbe/m)
    })

    it("leaves the status writable and the object deletable", async () => {
      const type = policyTypes(names).AuthorizationPolicy
      await client.patch(type, "ap", { status: { observedGeneration: 1 } }, { namespace: "foo", subresource: "status" })
      expect((await k("delete authorizationpolicies ap -n foo")).code).toBe(0)
    })

    const containers = async (name: string, namespace: string) => {
      const found = await client.get<Pod>(PODS, name, namespace)
      const { containers, initContainers = [] } = found?.spec ?? { containers: [] }
      return {
        found,
        all: [...initContainers, ...containers],
        names: [...initContainers, ...containers].map(one => one.name),
      }
    }

    it("injects an xserver on 15080 into a pod of a labelled namespace, and no other", async () => {
      for (const [name, namespace] of [
        ["in", "foo"],
        ["out", "bar"],
      ] as const) {
        expect(await k("create -f -", pod(name, namespace))).toMatchObject({ code: 0 })
      }
      const { found, all } = await containers("in", "foo")
      expect(all.find(({ name }) => name === xserver)?.ports).toMatchObject([
        { containerPort: 15080 },
        { containerPort: 15081 },
        { containerPort: 15021 },
      ])
      expect(found?.metadata.annotations).toMatchObject({ [`${domain}/proxy`]: "xserver" })
      expect((await containers("out", "bar")).names).toEqual(["app"])
    })

    it("follows the pod's own label, both ways", async () => {
      await k("create -f -", pod("without", "foo", "false"))
      await k("create -f -", pod("with", "bar", "true"))
      expect((await containers("without", "foo")).names).toEqual(["app"])
      expect((await containers("with", "bar")).names).toContain(xserver)
    })

    it("produces pods that the API server accepts, with generated names and on a dry run", async () => {
      expect(await k("create --dry-run=server -f -", pod("dry", "foo"))).toMatchObject({ code: 0 })
      expect((await containers("dry", "foo")).found).toBeUndefined()
      const generated = pod("x", "foo").replace("name: x,", "generateName: web-,")
      const { code, out } = await k("create -f - -o name", generated)
      expect([code, out]).toEqual([0, expect.stringMatching(/^pod\/web-\w{5}\n$/)])
      expect((await containers(out.trim().slice(4), "foo")).names).toContain(xserver)
    })

    it("rejects a pod whose port is xserver's", async () => {
      const { code, err } = await k("create -f -", pod("clash", "foo").replace("9090", "15080"))
      expect(code).toBe(1)
      expect(err).toMatch(/no xserver can be injected: the ports 15080 are reserved for xserver/)
    })

    it(`${capture === "service" ? "leads Services to xserver" : "leaves Services alone"}`, async () => {
      const service = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: foo}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
`
      for (const word of ["created", capture === "service" ? "configured" : "unchanged"]) {
        expect(await k("apply -f -", service)).toMatchObject({ code: 0, out: `service/web ${word}\n` })
        const found = await client.get<Service>(SERVICES, "web", "foo")
        expect(found?.spec.ports[0]?.targetPort).toBe(capture === "service" ? 15080 : 8080)
        const note = found?.metadata.annotations?.[`${domain}/original-target-ports`]
        expect(note).toBe(capture === "service" ? '{"80":8080}' : undefined)
      }
    })
  },
)
