// SPDX-License-Identifier: Apache-2.0
// The contents of the mesh: namespaces with service accounts, a Service and a policy each, and N declared Pods spread
// over them, each with a token bound to it.

import { type Api, eachOf } from "./api.js"
import type { Member } from "./messages.js"

const NAMESPACES = 10
const ACCOUNTS = 10
const ROOT_NAMESPACE = "merlon-system"
const POLICIES = "authorizationpolicies"
const GROUP = "/apis/security.merlon.dev/v1alpha3"

export const EVERY_POLICY = `${GROUP}/${POLICIES}`
export const ALL = { namespace: ROOT_NAMESPACE, name: "bench-all" } as const
export const ONE = { namespace: "bench-0", name: "bench-one" } as const

export function policyPath({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${GROUP}/namespaces/${namespace}/${POLICIES}/${name}`
}

/** Whether it is the proxy that the policy `ONE` selects. */
export function isTheOne({ name }: Member): boolean {
  return name === podName(0)
}

export async function build(api: Api, count: number): Promise<readonly Member[]> {
  const namespaces = Array.from({ length: NAMESPACES }, (_, i) => `bench-${i}`)
  await eachOf(namespaces, namespace => buildNamespace(api, namespace))
  await createPolicy(api, ALL.namespace, ALL.name, {})
  await createPolicy(api, ONE.namespace, ONE.name, { selector: { matchLabels: { instance: podName(0) } } })
  const proxies: Member[] = []
  await eachOf(
    Array.from({ length: count }, (_, i) => i),
    async i => {
      proxies[i] = await declare(api, i, namespaces[i % NAMESPACES] ?? "")
    },
  )
  return proxies
}

async function buildNamespace(api: Api, namespace: string): Promise<void> {
  const inside = `/api/v1/namespaces/${namespace}`
  await api.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  for (let i = 0; i < ACCOUNTS; i++) {
    await api.create(`${inside}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: `account-${i}` },
    })
  }
  await api.create(`${inside}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "bench" },
    spec: { selector: { app: "bench" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  })
  await createPolicy(api, namespace, "standing", { selector: { matchLabels: { app: "bench" } } })
}

async function createPolicy(api: Api, namespace: string, name: string, selection: object): Promise<void> {
  await api.create(`${GROUP}/namespaces/${namespace}/${POLICIES}`, {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "AuthorizationPolicy",
    metadata: { name },
    spec: { ...selection, ...ruleOf("first") },
  })
}

/** The rule that a change writes into a policy; the fleet looks for the path. */
export function ruleOf(path: string): object {
  return { action: "DENY", rules: [{ to: [{ operation: { paths: [`/${path}`] } }] }] }
}

async function declare(api: Api, i: number, namespace: string): Promise<Member> {
  const name = podName(i)
  const account = `account-${Math.floor(i / NAMESPACES) % ACCOUNTS}`
  const { metadata } = await api.create(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: { app: "bench", instance: name, "sidecar.merlon.dev/inject": "false" },
      annotations: { "merlon.dev/workload": "declared", "merlon.dev/proxy": "xserver" },
    },
    spec: {
      serviceAccountName: account,
      containers: [{ name: "app", image: "none", ports: [{ containerPort: 8080, name: "http" }] }],
    },
  })
  const { status } = await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      audiences: ["merlon-ca"],
      expirationSeconds: 7_200,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid: metadata.uid },
    },
  })
  if (status?.token === undefined) throw new Error("the API gave no token")
  const address = `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`
  return { namespace, name, address, token: status.token }
}

export async function trustBundle(api: Api): Promise<string> {
  for (;;) {
    const found = await api.find("/api/v1/namespaces/bench-0/configmaps/merlon-ca-root-cert")
    const bundle = found?.data?.["root-cert.pem"]
    if (bundle !== undefined) return bundle
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

function podName(i: number): string {
  return `proxy-${String(i).padStart(5, "0")}`
}
