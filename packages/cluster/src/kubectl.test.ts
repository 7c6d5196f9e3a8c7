// SPDX-License-Identifier: Apache-2.0
//
// The everyday commands of kubectl, with the outcomes Kubernetes documents. `CLUSTER_KUBECONFIG` names another server
// to run the same commands against, such as a real kube-apiserver.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, startCluster } from "./cluster.js"
import { kubectl } from "./testing/kubectl.js"
import { loadFixtures } from "./testing/oracle/case.js"
import { stringify } from "./wire/json.js"

const policy = (priority: number, extra = ""): string => `
apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: {name: one, namespace: kubectl, labels: {app: web}}
spec: {action: ALLOW, priority: ${priority}${extra}}
`
const deployment = (image: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: kubectl}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "${image}"}]}
`

/** A kube-apiserver without controllers does not collect garbage or empty namespaces. */
const alone = process.env.CLUSTER_CONTROLLERS === "none"

describe("kubectl (needs kubectl)", { tags: ["needs/kubectl"] }, () => {
  let folder: string
  let cluster: Cluster | undefined
  let k: ReturnType<typeof kubectl>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kubectl-"))
    const other = process.env.CLUSTER_KUBECONFIG
    if (other === undefined) cluster = await startCluster({ dataDir: join(folder, "cluster"), port: 0 })
    k = kubectl(other ?? cluster?.kubeconfigPath ?? "", folder)
    const crds = stringify({
      apiVersion: "v1",
      kind: "List",
      items: loadFixtures().map(fixture => fixture.request.body ?? null),
    })
    expect((await k("apply -f -", crds)).code).toBe(0)
    await k("wait crd --all --for=condition=Established --timeout=120s")
    expect((await k("create namespace kubectl")).out).toBe("namespace/kubectl created\n")
  })

  afterAll(async () => {
    await k("delete namespace kubectl --ignore-not-found --wait=false")
    await cluster?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const says = async (args: string, expected: RegExp | string, input?: string): Promise<void> => {
    const { code, out, err } = await k(args, input)
    expect(`${err}${out}`).toMatch(expected)
    expect(code).toBe(0)
  }
  const rejects = async (args: string, expected: RegExp | string, input?: string): Promise<void> => {
    const { code, out, err } = await k(args, input)
    expect(`${err}${out}`).toMatch(expected)
    expect(code).not.toBe(0)
  }

  it("creates and applies objects and reports what changed", async () => {
    await says("create -f -", "authorizationpolicy.security.merlon.dev/one created", policy(1))
    await rejects(
      "create -f -",
      /AlreadyExists.*authorizationpolicies.security.merlon.dev "one" already exists/,
      policy(1),
    )
    await says("apply -f -", "authorizationpolicy.security.merlon.dev/one configured", policy(5))
    await says("apply -f -", "authorizationpolicy.security.merlon.dev/one unchanged", policy(5))
    await says("apply -f -", "deployment.apps/web created", deployment("echo:1"))
    await says("apply -f -", "deployment.apps/web configured", deployment("echo:2"))
    await says("apply -f -", "deployment.apps/web unchanged", deployment("echo:2"))
  })

  it("shows objects in every output format", async () => {
    await says("get ap -n kubectl", /^NAME +ACTION +ENFORCED +AGE\none +ALLOW +\d+(s|m(\d+s)?)\n$/)
    await says("get ap -n kubectl -o wide", /^NAME +ACTION +PRIORITY +ENFORCED +AGE\none +ALLOW +5 +\d+(s|m(\d+s)?)\n$/)
    await says("get ap one -n kubectl -o name", /^authorizationpolicy.security.merlon.dev\/one\n$/)
    await says("get ap one -n kubectl -o jsonpath={.spec.priority}", /^5$/)
    await says("get ap -A -o custom-columns=N:.metadata.name,P:.spec.priority", /^N +P\none +5\n$/)
    await says("get ap one -n kubectl -o yaml", /kind: AuthorizationPolicy\n/)
    await says("get ap one -n kubectl -o json", /"priority": 5/)
    await says("get ap -n kubectl -l app=web -o name", /one/)
    await says("get ap -n kubectl -l app=db -o name", /^$/)
    await says("get ap -n kubectl --field-selector metadata.name=one -o name", /one/)
    await says("get deploy web -n kubectl -o wide", /web +0\/2 +0 +0 +\d+(s|m(\d+s)?) +app +echo:2 +app=web/)
    await says("get all -n kubectl", /deployment.apps\/web/)
    await says("describe ap one -n kubectl", /Name: +one\nNamespace: +kubectl\nLabels: +app=web\n[\s\S]*Priority: +5/)
    await says("describe deploy web -n kubectl", /Replicas: +2 desired/)
  })

  it("shows the scheduling gate of a Pod", async () => {
    const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: gated, namespace: kubectl}\nspec:\n"
    const spec = "  schedulingGates: [{name: example.com/gate}]\n  containers: [{name: app, image: '-'}]\n"
    await says("create -f -", "pod/gated created", pod + spec)
    await says("get pod gated -n kubectl", /gated +0\/1 +SchedulingGated +0 /)
    await says("wait pod/gated -n kubectl --for=condition=PodScheduled=false --timeout=120s", "condition met")
    const conditions = [{ type: "PodScheduled", status: "True", reason: "Declared" }]
    const patch = JSON.stringify({ status: { phase: "Running", conditions } })
    await says(`patch pod gated -n kubectl --subresource status --type merge -p '${patch}'`, "patched")
    await says("get pod gated -n kubectl", /gated +0\/1 +Running +0 /)
    await says("delete pod gated -n kubectl", "deleted")
  })

  it.skipIf(process.env.CLUSTER_KUBECONFIG !== undefined)(
    "warns about kinds that no node or controller acts on (only for our own server)",
    async () => {
      const made = await k("create deployment unattended --image one -n kubectl")
      expect(made.out).toBe("deployment.apps/unattended created\n")
      expect(made.err).toMatch(
        'Warning: Deployment "unattended" is stored, but nothing in this cluster acts on it: it makes no Pods; declare what runs with `merlonctl workload`',
      )
      await k("run quiet --image one -n kubectl")
      expect((await k("logs quiet -n kubectl")).err).toMatch("`merlonctl logs` shows what a workload")
      const ran = await k("exec quiet -n kubectl -- ls")
      expect(ran.code).not.toBe(0)
      expect(ran.err).toMatch("`merlonctl exec` runs a program as a workload")
      await k("delete deployment/unattended pod/quiet -n kubectl")
    },
  )

  it("reports unknown resources, kinds and fields clearly", async () => {
    await rejects("get nothings", /the server doesn't have a resource type "nothings"/)
    await rejects("get ap nope -n kubectl", /NotFound.*authorizationpolicies.security.merlon.dev "nope" not found/)
    await rejects(
      "create -f -",
      /unknown field "(spec\.)?acton"/,
      policy(1, ", acton: ALLOW").replace("name: one", "name: bad"),
    )
    await rejects(
      "create -f -",
      /no matches for kind "Nothing"/,
      "apiVersion: security.merlon.dev/v1alpha3\nkind: Nothing\nmetadata: {name: x}\n",
    )
    await rejects(
      "create -f -",
      /spec.action: Unsupported value: "NOPE"/,
      policy(1).replace("ALLOW", "NOPE").replace("name: one", "name: bad"),
    )
  })

  it("patches in three ways, labels, annotates, replaces and scales", async () => {
    await says(`patch ap one -n kubectl --type merge -p '{"spec":{"priority":7}}'`, "patched")
    await says(
      `patch ap one -n kubectl --type json -p '[{"op":"replace","path":"/spec/priority","value":8}]'`,
      "patched",
    )
    await says(
      `patch deploy web -n kubectl -p '{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"echo:3"}]}}}}'`,
      "patched",
    )
    await says("get deploy web -n kubectl -o jsonpath={.spec.template.spec.containers[*].image}", /^echo:3$/)
    await says("label ap one -n kubectl x=y", "labeled")
    await says("label ap one -n kubectl x-", /unlabeled|labeled/)
    await says("annotate ap one -n kubectl a=b", "annotated")
    const { out } = await k("get ap one -n kubectl -o json")
    await says(
      "replace -f -",
      "authorizationpolicy.security.merlon.dev/one replaced",
      out.replace('"priority": 8', '"priority": 9'),
    )
    await rejects("replace -f -", /the object has been modified/, out.replace('"priority": 8', '"priority": 10'))
    await says("scale deploy web -n kubectl --replicas=3", "scaled")
    await says("get deploy web -n kubectl -o jsonpath={.spec.replicas}", /^3$/)
  })

  it("applies on the server, with conflicts and by force", async () => {
    await rejects("apply --server-side -f -", /Apply failed with \d+ conflicts?/, deployment("echo:9"))
    await says(
      "apply --server-side --force-conflicts -f -",
      "deployment.apps/web serverside-applied",
      deployment("echo:9"),
    )
    await says("apply --server-side -f -", "deployment.apps/web serverside-applied", deployment("echo:9"))
    await says("apply --dry-run=server -f -", "server dry run", deployment("echo:10"))
    await says("get deploy web -n kubectl -o jsonpath={.spec.template.spec.containers[*].image}", /^echo:9$/)
  })

  it("shows differences and explains fields", async () => {
    const { code, out } = await k("diff -f -", policy(20))
    expect(code).toBe(1)
    expect(out).toMatch(/\+ +priority: 20/)
    await says("explain ap.spec.action", /What to do with a request that matches a rule/)
    await says("explain deployment.spec.replicas", /Number of desired pods/)
    await says(
      "api-resources --api-group=security.merlon.dev -o name",
      /authorizationpolicies.security.merlon.dev\npeerauthentications.security.merlon.dev/,
    )
    await says("api-versions", /security.merlon.dev\/v1alpha3/)
  })

  it("answers permission queries", async () => {
    await says("auth can-i list ap -n kubectl", /^yes\n$/)
    await rejects("auth can-i list ap -n kubectl --as jane", /^no\n$/)
    await says(
      "create role reader -n kubectl --verb=get,list --resource=authorizationpolicies.security.merlon.dev",
      "created",
    )
    await says("create rolebinding reader -n kubectl --role=reader --user=jane", "created")
    await says("auth can-i list ap -n kubectl --as jane", /^yes\n$/)
    await says("get ap -n kubectl --as jane -o name", /one/)
    await rejects(
      "delete ap one -n kubectl --as jane",
      /Forbidden.*User "jane" cannot delete resource "authorizationpolicies"/,
    )
  })

  it("waits, watches and deletes", async () => {
    await rejects("wait ap/one -n kubectl --for=condition=Enforced --timeout=1s", /timed out waiting for the condition/)
    const waiting = k("wait ap/one -n kubectl --for=condition=Enforced --timeout=120s")
    await new Promise(resolve => setTimeout(resolve, 500))
    // A form that every version of kubectl supports; newer ones have `patch --subresource`.
    const condition = { type: "Enforced", status: "True", reason: "All", message: "all" }
    const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }]
    const object = JSON.parse((await k("get ap one -n kubectl -o json")).out)
    const path = "/apis/security.merlon.dev/v1alpha3/namespaces/kubectl/authorizationpolicies/one/status"
    await says(`replace --raw ${path} -f -`, '"Enforced"', JSON.stringify({ ...object, status: { conditions } }))
    expect((await waiting).out).toMatch("condition met")
    const seen: string[] = []
    await new Promise<void>((resolve, reject) => {
      const watching = k("get ap -n kubectl -w --request-timeout=120s -o name --output-watch-events", undefined, so => {
        if (seen.push(so) === 1) resolve()
      })
      watching.then(({ err }) => reject(new Error(`the watch ended: ${err}`)), reject)
    })
    await says("delete ap one -n kubectl", /"one" deleted/)
    await expect.poll(() => seen.at(-1)).toMatch(/one[\s\S]*one/)
    await rejects("delete ap one -n kubectl", /NotFound/)
    await says("delete ap one -n kubectl --ignore-not-found", /^$/)
  })

  it.skipIf(alone)("deletes dependents, or orphans them (needs controllers)", async () => {
    const map = (name: string, owner?: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: kubectl\n${owner === undefined ? "" : `  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: ${owner}}]\n`}`
    const family = async (): Promise<void> => {
      await k("create -f -", map("owner"))
      const { out: uid } = await k("get cm owner -n kubectl -o jsonpath={.metadata.uid}")
      await k("create -f -", map("child", uid))
    }
    await family()
    await says("delete cm owner -n kubectl --cascade=orphan", "deleted")
    await says("get cm child -n kubectl -o name", "configmap/child")
    await says("delete cm child -n kubectl", "deleted")
    await family()
    await says("delete cm owner -n kubectl --cascade=foreground", "deleted")
    await rejects("get cm child -n kubectl", /NotFound/)
  })

  it.skipIf(alone)("empties a namespace before it is deleted (needs controllers)", async () => {
    await says("create configmap settings -n kubectl --from-literal=a=b", "created")
    await says("delete namespace kubectl", /"kubectl" deleted/)
    await rejects("get namespace kubectl", /NotFound/)
  })
})
