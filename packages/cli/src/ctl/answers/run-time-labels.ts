// SPDX-License-Identifier: Apache-2.0
// Labels that Kubernetes and Istio add to Pods. Manifests of workloads lack them, so files do not say whether a policy
// that selects by such a label applies.

import type { MeshNames } from "@merlon/policy/mesh"
import { OF_ONE_POD } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { fieldsOf, textOf, textsOf } from "../foreign.js"
import { isIstio } from "./dialect.js"
import type { InputLog } from "./inputs.js"
import { templateOf } from "./workload-files.js"

const BY_KUBERNETES = /^(job-name|controller-uid|((batch|apps|statefulset|topology)\.kubernetes\.io)\/.*)$/
const BY_ISTIO = /^(service|security|topology|networking)\.istio\.io\//

/** Logs policies whose effect depends on a label that Pods get at run time. */
export function logRunTimeLabels(
  policies: readonly PolicyDocument[],
  objects: readonly unknown[],
  names: MeshNames,
  otherwise: string,
  log: Pick<InputLog, "skip">,
): void {
  const isAdded = (key: string): boolean =>
    OF_ONE_POD.test(key) || BY_KUBERNETES.test(key) || (isIstio(names) && BY_ISTIO.test(key))
  const made = objects.map(fieldsOf).flatMap(object => {
    const metadata = fieldsOf(object.metadata)
    // A Pod of a cluster already has its labels.
    if (templateOf(object) === undefined || (object.kind === "Pod" && metadata.uid !== undefined)) return []
    return [`${textOf(metadata.namespace) ?? otherwise}/${textOf(metadata.name) ?? ""}`]
  })
  const areMade = new Set(made)
  for (const { kind, metadata, spec } of policies) {
    const wanted = "selector" in spec ? Object.entries(textsOf(spec.selector?.matchLabels)) : []
    const [added] = wanted.find(([key]) => isAdded(key)) ?? []
    if (added === undefined) continue
    log.skip(
      `${kind} ${metadata.namespace}/${metadata.name}: Pods get the label \`${added}\` that it selects by when they are created; describe them as Pods with it`,
      ({ namespace, name, labels }, rootNamespace) => {
        const isInScope = metadata.namespace === namespace || metadata.namespace === rootNamespace
        const isOpen = areMade.has(`${namespace}/${name}`)
        const mayMatch = ([key, value]: readonly [string, string]) =>
          Object.hasOwn(labels, key) ? labels[key] === value : isOpen && isAdded(key)
        const lacks = wanted.some(([key]) => isAdded(key) && !Object.hasOwn(labels, key))
        return isInScope && lacks && wanted.every(mayMatch)
      },
    )
  }
}
