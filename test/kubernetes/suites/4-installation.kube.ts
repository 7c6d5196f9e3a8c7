// SPDX-License-Identifier: Apache-2.0
// The chart and merlonctl: both install the same, what they make is taken by the server, and what is removed is gone.

import { describe, expect, inject, it } from "vitest"
import { parseAllDocuments } from "yaml"
import {
  answering,
  apply,
  command,
  helm,
  install,
  kubectl,
  merlonctl,
  namespace,
  sample,
  tryKubectl,
  underLoad,
} from "../support/cluster.js"

const VARIANTS: readonly (readonly [name: string, sets: readonly string[]])[] = [
  ["the defaults", []],
  ["one replica without extras", ["replicas=1", "podDisruptionBudget.enabled=false", "networkPolicy.enabled=false"]],
  ["capture by Service", ["capture=service", "sidecar=plain", "logLevel=debug"]],
  ["dashboards", ["dashboards.enabled=true", "trustDomain=example.org"]],
  [
    "another image",
    ["image=registry.example/merlon:1.2.3", "imagePullPolicy=Always", "priorityClassName=system-cluster-critical"],
  ],
]
/** Without a cluster helm would guess a version. */
const TEMPLATE = ["template", "merlon", "deploy/helm/merlon", "--kube-version", "1.36.0", "-n"]
const flags = (sets: readonly string[]) => sets.flatMap(set => ["--set", set])

describe("the chart", () => {
  it("is found in order by helm", async () => {
    expect(await helm("lint", "deploy/helm/merlon", "-n", "merlon-system")).toContain("0 chart(s) failed")
  })

  it("refuses another namespace, and values that are not known", async () => {
    const elsewhere = await command(inject("helm"), [...TEMPLATE, "default"])
    expect(elsewhere.err).toContain("install into the namespace `merlon-system`")
    const unknown = await command(inject("helm"), [
      "template",
      "m",
      "deploy/helm/merlon",
      "-n",
      "merlon-system",
      "--set",
      "replica=2",
    ])
    expect(unknown.err).toContain("replica")
  })

  it.each(VARIANTS)("installs the same as merlonctl: %s; and the server takes it", async (_, sets) => {
    const chart = await helm(...TEMPLATE, "merlon-system", ...flags(sets))
    const manifest = await merlonctl("manifest", "--no-crds", ...flags(sets))
    const objects = (text: string) =>
      new Map(
        parseAllDocuments(text)
          .map(document => document.toJS())
          .filter(object => object !== null && object.kind !== "Namespace")
          .map(object => [`${object.kind}/${object.metadata.name}`, object] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      )
    expect(objects(chart)).toEqual(objects(manifest))
    const { code, err } = await tryKubectl(["apply", "--dry-run=server", "-f", "-"], manifest)
    expect({ code, err: err.replaceAll(/Warning: .*\n/g, "") }).toEqual({ code: 0, err: "" })
  })
})

describe("an upgrade by helm", () => {
  it("and a rollback fail no request", async () => {
    await underLoad(() => install("--set", "replicas=3", "--set", "config.certificateTtl=12h"), 300)
    expect(
      await kubectl("get", "deploy", "merlond", "-n", "merlon-system", "-o", "jsonpath={.status.readyReplicas}"),
    ).toBe("3")
    await underLoad(() => helm("rollback", "merlon", "-n", "merlon-system", "--wait", "--timeout", "120s"), 300)
    expect(await kubectl("get", "deploy", "merlond", "-n", "merlon-system", "-o", "jsonpath={.spec.replicas}")).toBe(
      "2",
    )
  })
})

async function startsWithout(name: string): Promise<void> {
  await apply(namespace("after", { "merlon-injection": "enabled" }), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "after" },
    spec: { terminationGracePeriodSeconds: 1, containers: [answering()] },
  })
  await kubectl("wait", `pod/${name}`, "-n", "after", "--for=condition=Ready", "--timeout=60s")
}

const remains = async (): Promise<string> => {
  const kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations,clusterroles,clusterrolebindings"
  return kubectl("get", kinds, "-l", "app.kubernetes.io/part-of=merlon", "-o", "name")
}

describe("what is uninstalled", () => {
  it("by helm keeps no Pod from starting, and policies stay", async () => {
    await apply(sample("policies/peer-permissive.yaml"))
    await helm("uninstall", "merlon", "-n", "merlon-system", "--wait")
    await startsWithout("one")
    await expect.poll(remains, { timeout: 60_000 }).toBe("")
    expect(await kubectl("get", "pa", "-n", "merlon-system", "-o", "name")).toContain("default")
  })

  it("and installed by merlonctl serves, is upgraded with the values it has, and goes without a trace", async () => {
    const out = await merlonctl("install", "--set", `image=${inject("image")}`, "--set", "replicas=1")
    expect(out).toContain("serves in `merlon-system`")
    await merlonctl("upgrade", "--set", "logLevel=debug")
    const spec = await kubectl(
      "get",
      "deploy",
      "merlond",
      "-n",
      "merlon-system",
      "-o",
      "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].args}",
    )
    expect(spec).toMatch(/^1 .*--log-level=debug/)
    await merlonctl("uninstall", "--crds")
    expect(await remains()).toBe("")
    expect(await kubectl("get", "crd", "-o", "name")).not.toContain("merlon.dev")
    expect((await tryKubectl(["get", "namespace", "merlon-system"])).code).toBe(1)
    expect(
      await kubectl("get", "configmaps", "-A", "--field-selector=metadata.name=merlon-ca-root-cert", "-o", "name"),
    ).toBe("")
    await startsWithout("two")
  })
})
