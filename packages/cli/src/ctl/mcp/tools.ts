// SPDX-License-Identifier: Apache-2.0
// The queries that the Model Context Protocol server offers. All are read-only. Without `--cluster` they only read files,
// and cluster-only queries are not offered.

import { PATH_NORMALIZATIONS } from "@merlon/policy/mesh"
import { DIALECTS } from "../answers/dialect.js"
import type { Tool, ToolArgument } from "./tool.js"

type Arguments = Readonly<Record<string, ToolArgument>>

const WHERE = "a file, a folder, or REVISION:PATH in git, as main:policies"

const NAMESPACE: ToolArgument = {
  type: "text",
  flag: "--namespace",
  description: "namespace of documents that name none, and of names without one (default: `default`)",
}

const MESH: Arguments = {
  dialect: {
    type: "text",
    flag: "--dialect",
    choices: DIALECTS,
    description: "mesh that the policies are written for (default: by their API groups)",
  },
  meshConfig: { type: "path", flag: "--mesh-config", description: "file with Istio's MeshConfig or its ConfigMap" },
  trustDomain: { type: "text", flag: "--trust-domain", description: "trust domain (default: cluster.local)" },
  trustDomainAliases: { type: "texts", flag: "--trust-domain-alias", description: "other trusted domains" },
  pathNormalization: {
    type: "text",
    flag: "--path-normalization",
    choices: PATH_NORMALIZATIONS,
    description: "how the mesh normalizes paths",
  },
  trustedProxies: {
    type: "number",
    flag: "--trusted-proxies",
    minimum: 0,
    maximum: 100,
    description: "number of trusted proxies in front of workloads",
  },
}

const BUDGET: ToolArgument = {
  type: "number",
  flag: "--budget",
  minimum: 1,
  maximum: 600,
  unit: "s",
  description: "seconds after which the answer is `undecided` (default: 60)",
}

const TEXT_OR_JSON = { json: ["--output=json"], text: [] } as const

const HOST: ToolArgument = { type: "text", flag: "--host", description: "host, as the caller names it" }

function source(isCluster: boolean): Arguments {
  const otherwise = isCluster ? " (default: the policies and workloads of the cluster)" : ""
  return {
    files: {
      type: "paths",
      flag: "--filename",
      ...(isCluster ? {} : { required: true }),
      description: `policies and workloads, each ${WHERE}${otherwise}`,
    },
    workloads: { type: "path", flag: "--workloads", description: "Pods, Deployments and Services, if not in `files`" },
    namespace: NAMESPACE,
  }
}

const WORKLOAD: ToolArgument = { type: "text", required: true, description: "workload, as NAMESPACE/NAME" }
const PORT = {
  type: "number",
  flag: "--port",
  minimum: 1,
  maximum: 65_535,
  description: "port of the workload",
} as const

function tool(name: string, description: string, args: Arguments, more: Partial<Tool> = {}): Tool {
  return { name, description, command: [name], formats: TEXT_OR_JSON, arguments: args, ...more }
}

/** Options for every command, from the user who starts the server. */
export interface ToolOptions {
  /** Options for commands that can query a cluster. Undefined if none may be queried. */
  readonly cluster: readonly string[] | undefined
  readonly mesh: readonly string[]
}

export function tools({ cluster, mesh }: ToolOptions): readonly Tool[] {
  const offered = cluster === undefined ? questions(false) : [...questions(true), ...CLUSTER_ONLY]
  return offered.map(one => ({
    ...one,
    command: [...one.command, ...mesh, ...(one.name === "test" ? [] : (cluster ?? []))],
  }))
}

function questions(isCluster: boolean): readonly Tool[] {
  const from = source(isCluster)
  const needed = isCluster ? {} : { required: true }
  return [
    tool(
      "diff",
      "Prove which requests a change of policies allows or denies. Compares the policies `from` with those `to`, for `workloads`." +
        (isCluster ? " With `files` instead: compares the cluster with what it would be once they are applied." : "") +
        " `equal` is a proof for every request; each change has an example request.",
      {
        from: { type: "path", flag: "--from", ...needed, description: `policies before: ${WHERE}` },
        to: { type: "path", flag: "--to", ...needed, description: `policies after: ${WHERE}` },
        workloads: {
          type: "path",
          flag: "--workloads",
          ...needed,
          description: `Pods, Deployments and Services: ${WHERE}`,
        },
        ...(isCluster
          ? { files: { type: "paths", flag: "--filename", description: "files to apply to the cluster" } as const }
          : {}),
        calls: {
          type: "path",
          flag: "--calls",
          description: "JSON file with recorded calls: counts those that change",
        },
        shadow: { type: "switch", flag: "--shadow", description: "treat Shadow policies as enforced, on both sides" },
        namespace: NAMESPACE,
        ...MESH,
        budget: BUDGET,
      },
      { formats: { ...TEXT_OR_JSON, md: ["--output=md"] } },
    ),
    tool("who-can", "Prove who can reach a workload, optionally with certain requests. Lists every allowed way.", {
      workload: WORKLOAD,
      ...from,
      methods: { type: "texts", flag: "--method", description: "methods" },
      paths: { type: "texts", flag: "--path", description: "paths or patterns of requests, as /admin/*" },
      hosts: { type: "texts", flag: "--host", description: "hosts" },
      port: PORT,
      ...MESH,
      budget: BUDGET,
    }),
    tool("what-can", "Prove what an identity can reach: every workload, with the requests that are allowed.", {
      identity: { type: "text", required: true, description: "identity, as ns/NAMESPACE/sa/ACCOUNT" },
      ...from,
      ...MESH,
      budget: BUDGET,
    }),
    tool("analyze", "Find dead rules (by proof), contradictions and common mistakes in a set of policies.", {
      ...from,
      ...MESH,
      budget: BUDGET,
    }),
    tool(
      "explain",
      "Explain why one request is allowed or denied, with the policy and rule that decide. Nothing is sent.",
      {
        workload: isCluster
          ? { ...WORKLOAD, description: "workload, as NAMESPACE/NAME, or the id of a decision" }
          : WORKLOAD,
        ...withoutWorkloads(from),
        labels: { type: "texts", flag: "--label", description: "labels of the workload if no file has it, as app=web" },
        services: { type: "texts", flag: "--service", description: "Services of the workload if no file has it" },
        curl: { type: "text", flag: "--curl", description: "the request as a curl command line" },
        log: { type: "text", flag: "--log", description: "the request as a line of a proxy's access log (JSON)" },
        from: {
          type: "text",
          flag: "--from",
          description: "identity of the caller, as ns/foo/sa/sleep (default: plaintext)",
        },
        ip: { type: "text", flag: "--ip", description: "address of the caller" },
        destinationIp: { type: "text", flag: "--destination-ip", description: "address of the workload" },
        sni: { type: "text", flag: "--sni", description: "server name in the caller's TLS handshake" },
        port: PORT,
        method: { type: "text", flag: "--method", description: "method (default: GET)" },
        path: { type: "text", flag: "--path", description: "path of the request, with its query" },
        host: HOST,
        headers: { type: "texts", flag: "--header", description: "headers, each as `Name: value`" },
        token: {
          type: "text",
          flag: "--token",
          description: "a token, verified by the keys in the files or in `jwks`",
        },
        claims: { type: "texts", flag: "--claim", description: "claims of a valid token, each as name=value" },
        jwks: { type: "path", flag: "--jwks", description: "file with the issuer's keys" },
        tcp: { type: "switch", flag: "--tcp", description: "a TCP connection instead of a request" },
        ...MESH,
      },
    ),
    tool("test", "Run the policy tests in files and folders (`*.test.yaml`).", {
      tests: { type: "paths", required: true, description: "files, or folders that are searched" },
      filter: { type: "text", flag: "--filter", description: "only cases whose file or name has this text" },
      ...MESH,
    }),
  ]
}

function withoutWorkloads(args: Arguments): Arguments {
  return Object.fromEntries(Object.entries(args).filter(([name]) => name !== "workloads"))
}

/** Excludes kinds that contain secrets, because a model's input may be sent on. */
const KINDS = [
  "policies",
  "requestauthentications",
  "authorizationpolicies",
  "peerauthentications",
  "policyinvariants",
  "meshservices",
]

const CLUSTER_ONLY: readonly Tool[] = [
  tool("get", "Show policies of the cluster, with their status.", {
    kind: { type: "text", required: true, choices: KINDS, description: "kind; `policies` for all" },
    names: { type: "texts", description: "names (default: all)" },
    namespace: NAMESPACE,
    allNamespaces: { type: "switch", flag: "--all-namespaces", description: "query all namespaces" },
  }),
  tool(
    "describe",
    "Show everything about a workload of the cluster: identity, Pods, mTLS modes, policies, possible and observed callers.",
    { workload: WORKLOAD, budget: BUDGET },
    { command: ["describe", "workload"] },
  ),
  tool("check", "Check the health of the mesh in the cluster, with what to do about problems.", {}),
]
