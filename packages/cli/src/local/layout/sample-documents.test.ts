// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url"
import { meshNames } from "@merlon/policy/mesh"
import { expect, it } from "vitest"
import { documentsOf, sampleDocuments } from "./sample-documents.js"
import { SERVICES, sampleInstances } from "./samples.js"

const samples = fileURLToPath(new URL("../../../../../samples", import.meta.url))
const dubbo = meshNames({ mesh: "dubbo", domain: "dubbo.apache.org" })

it("declares each namespace, service account and Service once, namespaces first", () => {
  const found = sampleDocuments(samples, meshNames(), false).map(({ kind, metadata: { namespace, name } }) =>
    [kind, namespace, name].filter(Boolean).join(" "),
  )
  expect(found).toEqual([
    "Namespace foo",
    "Namespace app",
    "ServiceAccount foo httpbin",
    "ServiceAccount app web",
    "ServiceAccount app consumer",
    "Service foo httpbin",
    "Service app web",
  ])
})

it("enables injection by the mesh's own label, whatever its name", () => {
  const labels = sampleDocuments(samples, dubbo, false)
    .filter(({ kind }) => kind === "Namespace")
    .map(({ metadata }) => metadata.labels)
  expect(labels).toEqual([{ "dubbo-injection": "enabled" }, { "dubbo-injection": "enabled" }])
})

it("points Services to ports by name, so that an instance may have another number", () => {
  const text =
    "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{name: http, port: 80, targetPort: 8080}]}"
  expect(documentsOf(text, dubbo)[0]?.spec).toEqual({ ports: [{ name: "http", port: 80, targetPort: "http" }] })
})

it("runs instances under accounts and behind Services that the manifests declare", () => {
  const declared = sampleDocuments(samples, meshNames(), true).map(
    ({ kind, metadata: { namespace, name } }) => `${kind} ${namespace}/${name}`,
  )
  const instances = sampleInstances({ shop: true })
  for (const { namespace, serviceAccount } of instances) {
    expect(declared).toContain(`ServiceAccount ${namespace}/${serviceAccount}`)
  }
  for (const service of SERVICES) {
    expect(declared).toContain(`Service ${service.namespace}/${service.name}`)
    expect(instances.some(service.selects)).toBe(true)
  }
})

it("declares the shop and its policies in the group of the mesh with `--shop`", () => {
  const found = sampleDocuments(samples, dubbo, true).filter(({ metadata: { namespace } }) => namespace === "shop")
  const policies = found.filter(({ apiVersion }) => apiVersion !== "v1")
  expect(policies.map(({ apiVersion, kind, metadata: { name } }) => `${apiVersion} ${kind} ${name}`)).toEqual([
    "security.dubbo.apache.org/v1alpha3 AuthorizationPolicy payment-callers",
    "security.dubbo.apache.org/v1alpha3 AuthorizationPolicy ledger-callers",
    "security.dubbo.apache.org/v1alpha3 PeerAuthentication ledger",
    "security.dubbo.apache.org/v1alpha3 PolicyInvariant only-payment-reaches-ledger",
  ])
})
