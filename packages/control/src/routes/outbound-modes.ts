// SPDX-License-Identifier: Apache-2.0
// Decides whether workloads may call destinations outside the cluster: by their namespace's label, else by the mesh's
// setting.

import type { MeshNames } from "@merlon/policy/mesh"
import { OUTBOUND_MODES, type OutboundMode } from "@merlon/xds"
import type { Reflected } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"

export interface OutboundModes {
  modeOf(namespace: string): OutboundMode
  /** Called with the namespace whose mode may have changed. */
  onChange(listener: (namespace: string) => void): () => void
}

export interface OutboundModesOptions {
  readonly namespaces: Pick<Reflected<KubernetesObject>, "items" | "onChange">
  readonly names: MeshNames
  /** The mode of namespaces without the label. */
  readonly mode: OutboundMode
  readonly warn: (namespace: string, message: string) => void
}

/** Label of namespaces: `ALLOW_ANY` or `REGISTRY_ONLY` overrides the mesh's setting. */
export function outboundPolicyLabel({ mesh }: MeshNames): string {
  return `${mesh}-outbound-policy`
}

export function outboundModes({ namespaces, names, mode, warn }: OutboundModesOptions): OutboundModes {
  const label = outboundPolicyLabel(names)
  const written = (namespace: KubernetesObject | undefined) => namespace?.metadata.labels?.[label]
  const known = (text: string) => OUTBOUND_MODES.find(each => each === text)
  return {
    modeOf: namespace => {
      const text = written(namespaces.items.get(namespace))
      // Fail closed: a mistyped value was most likely meant to restrict.
      return text === undefined ? mode : (known(text) ?? "REGISTRY_ONLY")
    },
    onChange: listener =>
      namespaces.onChange(({ key, object, previous }) => {
        const text = written(object)
        if (text === written(previous)) return
        if (text !== undefined && known(text) === undefined)
          warn(
            key,
            `the label \`${label}\` must be ${OUTBOUND_MODES.join(" or ")}; \`${text}\` is treated as REGISTRY_ONLY`,
          )
        listener(key)
      }),
  }
}
