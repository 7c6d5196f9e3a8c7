// SPDX-License-Identifier: Apache-2.0
// Before the suites: a cluster. The one of KUBECONFIG where that is set, else a node of our own with the images in it.
// With another's cluster, MERLON_IMAGE and MERLON_SAMPLES_IMAGE name images that it can pull.

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import type { TestProject } from "vitest/node"
import { ARCHITECTURE, KubernetesNode } from "../node/kubernetes-node.js"
import { program, whatIsMissing } from "../node/programs.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly inside: readonly string[]
    readonly kubeconfig: string
    readonly kubectl: string
    readonly helm: string
    readonly image: string
    readonly samplesImage: string
    /** Its process; 0 where the cluster is another's. */
    readonly kubelet: number
  }
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"))
  const given = process.env.KUBECONFIG ?? ""
  if (given !== "") {
    provide("inside", ["env"])
    provide("kubeconfig", given)
    provide("kubectl", "kubectl")
    provide("helm", "helm")
    provide("image", process.env.MERLON_IMAGE ?? `merlon:${version}`)
    provide("samplesImage", process.env.MERLON_SAMPLES_IMAGE ?? `merlon-samples:${version}`)
    provide("kubelet", 0)
    return async () => undefined
  }
  const missing = whatIsMissing()
  if (missing.length > 0)
    throw new Error(`there is no cluster (KUBECONFIG), and for one of our own there is missing: ${missing.join("; ")}`)
  const build = ["tsx", "scripts/image.ts", "--samples", "--architecture", ARCHITECTURE]
  execFileSync("npx", build, { stdio: ["ignore", "inherit", "inherit"] })
  const node = await KubernetesNode.start([`dist/merlon-${version}.tar`, `dist/merlon-samples-${version}.tar`])
  provide("inside", node.inside)
  provide("kubeconfig", node.kubeconfig)
  provide("kubectl", program("kubectl"))
  provide("helm", program("helm"))
  provide("image", `merlon:${version}`)
  provide("samplesImage", `merlon-samples:${version}`)
  provide("kubelet", node.processOf("kubelet"))
  return () => node.stop()
}
