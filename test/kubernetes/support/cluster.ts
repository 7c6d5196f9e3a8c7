// SPDX-License-Identifier: Apache-2.0
// Helpers of the suites that use kubectl and helm. Requests are made in Pods.

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { expect, inject } from "vitest"

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Standard input stays open until an input promise resolves. `heard` is called with each piece of output. */
export function command(
  program: string,
  args: readonly string[],
  input: string | Promise<string> = "",
  onOutput: (piece: string) => void = () => undefined,
): Promise<Ended> {
  const [first = "", ...before] = inject("inside")
  const env = { ...process.env, KUBECONFIG: inject("kubeconfig") }
  return new Promise(resolve => {
    const options = { env, maxBuffer: 1 << 26 }
    const child = execFile(first, [...before, program, ...args], options, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : 1, out, err }),
    )
    child.stdout?.on("data", onOutput)
    void Promise.resolve(input).then(text => child.stdin?.end(text))
  })
}

export const tryKubectl = (
  args: readonly string[],
  input: string | Promise<string> = "",
  onOutput?: (piece: string) => void,
): Promise<Ended> => command(inject("kubectl"), args, input, onOutput)

/** Returns the output; throws with the program's error output if it fails. */
export async function kubectl(...args: string[]): Promise<string> {
  return done(`kubectl ${args.join(" ")}`, await tryKubectl(args))
}

export async function helm(...args: string[]): Promise<string> {
  return done(`helm ${args.join(" ")}`, await command(inject("helm"), args))
}

export const tryMerlonctl = (args: readonly string[], input = ""): Promise<Ended> =>
  command(process.execPath, ["packages/cli/bin/merlonctl.js", ...args], input)

export async function merlonctl(...args: string[]): Promise<string> {
  return done(`merlonctl ${args.join(" ")}`, await tryMerlonctl(args))
}

function done(what: string, { code, out, err }: Ended): string {
  if (code !== 0) throw new Error(`${what} ended with ${code}:\n${err}${out}`)
  return out.trim()
}

export async function apply(...documents: readonly (object | string)[]): Promise<string> {
  const text = documents.map(one => (typeof one === "string" ? one : JSON.stringify(one))).join("\n---\n")
  return done("kubectl apply", await tryKubectl(["apply", "-f", "-"], text))
}

/** A file of samples/ with the images of this run. */
export function sample(path: string): string {
  return readFileSync(`samples/${path}`, "utf8")
    .replaceAll(/image: merlon-samples:\S+/g, `image: ${inject("samplesImage")}`)
    .replaceAll(/image: merlon:\S+/g, `image: ${inject("image")}`)
}

export function install(...args: string[]): Promise<void> {
  return installFrom("deploy/helm/merlon", inject("image"), ...args)
}

export async function installFrom(chart: string, image: string, ...args: string[]): Promise<void> {
  const place = ["-n", "merlon-system", "--create-namespace", "--wait", "--timeout", "300s"]
  await helm("upgrade", "--install", "merlon", chart, ...place, "--set", `image=${image}`, ...args)
}

export function namespace(name: string, labels: { readonly [key: string]: string } = {}): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }
}

export const CONFINED = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  runAsUser: 1000,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
}

/** A container that echoes requests on 8080. */
export function answering(fields: object = {}): object {
  return {
    name: "app",
    image: inject("samplesImage"),
    imagePullPolicy: "IfNotPresent",
    command: ["node", "samples/dist/httpbin.js"],
    ports: [{ name: "http", containerPort: 8080 }],
    securityContext: CONFINED,
    ...fields,
  }
}

/** Starts a workload outside the mesh, which calls as any process could. */
export async function startCaller(): Promise<void> {
  const labels = { app: "caller" }
  await apply(namespace("outside"), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "caller", namespace: "outside" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [answering()] } },
    },
  })
  await kubectl("rollout", "status", "deploy/caller", "-n", "outside", "--timeout=150s")
}

const CALL = `fetch(process.argv[1], { headers: JSON.parse(process.argv[2]), signal: AbortSignal.timeout(15000) })
  .then(answer => console.log(answer.status), () => console.log(0))`

/** The status of a request from outside the mesh; 0 without a response. */
export async function status(url: string, headers: { readonly [name: string]: string } = {}): Promise<number> {
  const script = ["node", "-e", CALL, url, JSON.stringify(headers)]
  return Number(await kubectl("exec", "-n", "outside", "deploy/caller", "--", ...script))
}

export async function eventually(
  url: string,
  expected: number,
  headers: { readonly [name: string]: string } = {},
): Promise<void> {
  await expect.poll(() => status(url, headers), { timeout: 150_000, interval: 300 }).toBe(expected)
}

/** The API server's own `host:port`, an address that belongs to no Service or Pod. */
export async function apiServerAddress(): Promise<string> {
  const path = "jsonpath={.subsets[0].addresses[0].ip} {.subsets[0].ports[0].port}"
  const [host = "", port] = (await kubectl("get", "endpoints", "kubernetes", "-n", "default", "-o", path)).split(" ")
  return `${host.includes(":") ? `[${host}]` : host}:${port}`
}

export function podAddress(namespaceName: string, selector: string): Promise<string> {
  return kubectl("get", "pod", "-n", namespaceName, "-l", selector, "-o", "jsonpath={.items[0].status.podIP}")
}

export function ready(kind: string, name: string, namespaceName: string): Promise<string> {
  return kubectl("rollout", "status", `${kind}/${name}`, "-n", namespaceName, "--timeout=150s")
}

/**
 * Sends requests from the consumer by the mesh's routes, over mutual TLS, until `meanwhile` is finished. Fails if a
 * request fails.
 */
export async function underLoad(meanwhile: () => Promise<unknown>, requests = 200): Promise<void> {
  let isOver = false
  const happened = meanwhile().finally(() => {
    isOver = true
  })
  const load = async (): Promise<void> => {
    do await callMany(requests)
    while (!isOver)
  }
  // Both must finish before the next test.
  const outcomes = await Promise.allSettled([load(), happened])
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason
}

async function callMany(requests: number): Promise<void> {
  const pace = ["--request-interval", "20ms", "--request-timeout", "60s", "--wait-timeout", "60s"]
  const called = ["xclient", "--host", "web", ...pace, String(requests)]
  const { code, out, err } = await tryKubectl(["exec", "-n", "app", "deploy/consumer", "--", ...called])
  expect({ code, err, answered: answered(out) }).toEqual({ code: 0, err: "", answered: requests })
}

function answered(out: string): number {
  return [...out.matchAll(/^\S+ (\d+) /gm)].reduce((sum, [, count]) => sum + Number(count), 0)
}

/**
 * Simulates a network plugin that enforces NetworkPolicies, unlike the node's bridge plugin: allows only traffic that
 * the policy allows to the address.
 */
export async function enforceNetworkPolicy(name: string, place: string, address: string): Promise<void> {
  const policy = JSON.parse(await kubectl("get", "networkpolicy", name, "-n", place, "-o", "json"))
  const ports: readonly { readonly protocol: string; readonly port?: number; readonly endPort?: number }[] =
    policy.spec.ingress[0].ports
  const open = ports.flatMap(({ protocol, port, endPort = port }) =>
    protocol === "TCP" && port !== undefined ? [`${port}-${endPort}`] : [],
  )
  const rules = `table bridge policies {
    chain forward {
      type filter hook forward priority 0; policy accept;
      ip daddr ${address} tcp flags & (syn | ack) == syn tcp dport != { ${open.join(", ")} } drop
    }
  }`
  done("nft", await command("nft", ["-f", "-"], rules))
}
