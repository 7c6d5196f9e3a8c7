// SPDX-License-Identifier: Apache-2.0
// Provides a cluster for the suites: the one of KUBECONFIG if set, otherwise our own node with the images. With an
// external cluster, MERLON_IMAGE and MERLON_SAMPLES_IMAGE name images that it can pull. Use the cluster for nothing
// else, because the suites install, break and uninstall the mesh there.

import type { TestProject } from "vitest/node"
import { buildImages, imagesOfThisTree } from "../node/images.js"
import { ARCHITECTURE, KubernetesNode } from "../node/kubernetes-node.js"
import { program, whatIsMissing } from "../node/programs.js"
import { versionBefore } from "../node/version-before.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly inside: readonly string[]
    readonly kubeconfig: string
    readonly kubectl: string
    readonly helm: string
    readonly image: string
    readonly samplesImage: string
    /** Chart and image of the version that an upgrade starts from; empty if there is none. */
    readonly chartBefore: string
    readonly imageBefore: string
    /** The file with the kubelet's process id (see KubernetesNode); empty for an external cluster. */
    readonly kubelet: string
  }
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const given = process.env.KUBECONFIG ?? ""
  if (given !== "") {
    provide("inside", ["env"])
    provide("kubeconfig", given)
    provide("kubectl", "kubectl")
    provide("helm", "helm")
    const { image, samplesImage } = imagesOfThisTree()
    provide("image", process.env.MERLON_IMAGE ?? image)
    provide("samplesImage", process.env.MERLON_SAMPLES_IMAGE ?? samplesImage)
    provide("chartBefore", process.env.MERLON_CHART_BEFORE ?? "")
    provide("imageBefore", process.env.MERLON_IMAGE_BEFORE ?? "")
    provide("kubelet", "")
    return async () => undefined
  }
  const missing = whatIsMissing()
  if (missing.length > 0)
    throw new Error(`there is no cluster (KUBECONFIG), and for one of our own there is missing: ${missing.join("; ")}`)
  const { image, samplesImage, archives } = buildImages()
  const before = versionBefore(ARCHITECTURE)
  if (before === undefined) console.warn("NOT TRIED: an upgrade from the version before; MERLON_BEFORE names a commit")
  const node = await KubernetesNode.start(before === undefined ? archives : [...archives, before.archive])
  provide("inside", node.inside)
  provide("kubeconfig", node.kubeconfig)
  provide("kubectl", program("kubectl"))
  provide("helm", program("helm"))
  provide("image", image)
  provide("samplesImage", samplesImage)
  provide("chartBefore", before?.chart ?? "")
  provide("imageBefore", before?.image ?? "")
  provide("kubelet", node.kubelet)
  return () => node.stop()
}
