// SPDX-License-Identifier: Apache-2.0
// What the suites do with a cluster, by the programs that people use: kubectl and helm. Requests are made in Pods.

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { expect, inject } from "vitest"

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export function command(program: string, args: readonly string[], input = ""): Promise<Ended> {
  const [first = "", ...before] = inject("inside")
  const env = { ...process.env, KUBECONFIG: inject("kubeconfig") }
  return new Promise(resolve => {
    const options = { env, maxBuffer: 1 << 26 }
    const child = execFile(first, [...before, program, ...args], options, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : 1, out, err }),
    )
    child.stdin?.end(input)
  })
}

export const tryKubectl = (args: readonly string[], input = ""): Promise<Ended> =>
  command(inject("kubectl"), args, input)

/** The output; fails with what the program said. */
export async function kubectl(...args: string[]): Promise<string> {
  return done(`kubectl ${args.join(" ")}`, await tryKubectl(args))
}

export async function helm(...args: string[]): Promise<string> {
  return done(`helm ${args.join(" ")}`, await command(inject("helm"), args))
}

export async function merlonctl(...args: string[]): Promise<string> {
  return done(
    `merlonctl ${args.join(" ")}`,
    await command(process.execPath, ["packages/cli/bin/merlonctl.js", ...args]),
  )
}

function done(what: string, { code, out, err }: Ended): string {
  if (code !== 0) throw new Error(`${what} ended with ${code}:\n${err}${out}`)
  return out.trim()
}

export async function apply(...documents: readonly (object | string)[]): Promise<string> {
  const text = documents.map(one => (typeof one === "string" ? one : JSON.stringify(one))).join("\n---\n")
  return done("kubectl apply", await tryKubectl(["apply", "-f", "-"], text))
}

/** A file of samples/, with the images of this run. */
export function sample(path: string): string {
  return readFileSync(`samples/${path}`, "utf8")
    .replaceAll(/image: merlon-samples:\S+/g, `image: ${inject("samplesImage")}`)
    .replaceAll(/image: merlon:\S+/g, `image: ${inject("image")}`)
}

export async function install(...args: string[]): Promise<void> {
  const place = ["-n", "merlon-system", "--create-namespace", "--wait", "--timeout", "150s"]
  await helm(
    "upgrade",
    "--install",
    "merlon",
    "deploy/helm/merlon",
    ...place,
    "--set",
    `image=${inject("image")}`,
    ...args,
  )
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

/** A container that answers on 8080 with what it was asked. */
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

/** A workload outside of the mesh, which calls as anybody could. */
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
  await kubectl("rollout", "status", "deploy/caller", "-n", "outside", "--timeout=120s")
}

const CALL = `fetch(process.argv[1], { headers: JSON.parse(process.argv[2]), signal: AbortSignal.timeout(5000) })
  .then(answer => console.log(answer.status), () => console.log(0))`

/** The status of a request from outside of the mesh; 0 where no answer came. */
export async function status(url: string, headers: { readonly [name: string]: string } = {}): Promise<number> {
  const script = ["node", "-e", CALL, url, JSON.stringify(headers)]
  return Number(await kubectl("exec", "-n", "outside", "deploy/caller", "--", ...script))
}

export async function eventually(
  url: string,
  expected: number,
  headers: { readonly [name: string]: string } = {},
): Promise<void> {
  await expect.poll(() => status(url, headers), { timeout: 90_000, interval: 300 }).toBe(expected)
}

export function podAddress(namespaceName: string, selector: string): Promise<string> {
  return kubectl("get", "pod", "-n", namespaceName, "-l", selector, "-o", "jsonpath={.items[0].status.podIP}")
}

export function ready(kind: string, name: string, namespaceName: string): Promise<string> {
  return kubectl("rollout", "status", `${kind}/${name}`, "-n", namespaceName, "--timeout=150s")
}

/** Requests from the consumer by the mesh's routes, over mutual TLS, while something happens; fails where one fails. */
export async function underLoad(meanwhile: () => Promise<unknown>, requests = 400): Promise<void> {
  const pace = ["--request-interval", "20ms", "--wait-timeout", "60s"]
  const load = tryKubectl([
    "exec",
    "-n",
    "app",
    "deploy/consumer",
    "--",
    "xclient",
    "--host",
    "web",
    ...pace,
    String(requests),
  ])
  await meanwhile()
  const { code, out, err } = await load
  expect({ code, err, answered: answered(out) }).toEqual({ code: 0, err: "", answered: requests })
}

function answered(out: string): number {
  return [...out.matchAll(/^\S+ (\d+) /gm)].reduce((sum, [, count]) => sum + Number(count), 0)
}
