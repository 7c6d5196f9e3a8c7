// SPDX-License-Identifier: Apache-2.0
// Lets containers of a Pod call through the mesh. Containers with our own image and those that an annotation names get
// the workload's credentials; if the Pod requests it, all get `http_proxy`.

import { type Foreign, listOf, objectOf, textOf } from "../registry/foreign.js"
import { type InjectionOptions, injectionNames, OUTBOUND_PORT } from "./injection-options.js"
import { memberParts } from "./proxy-container.js"

export interface PodContainers {
  readonly containers: readonly Foreign[]
  readonly initContainers: readonly Foreign[]
}

interface Asked extends PodContainers {
  readonly annotations: Foreign
  readonly callsOut: boolean
}

export function membersOf(
  asked: Asked,
  options: InjectionOptions,
): PodContainers & { readonly warnings: readonly string[] } {
  const { credentials } = injectionNames(options.names).annotations
  const named = (textOf(asked.annotations[credentials]) ?? "").split(",").flatMap(name => name.trim() || [])
  const known = new Set(asked.containers.map(({ name }) => name))
  const unknown = named.filter(name => !known.has(name))
  const change = (container: Foreign): Foreign => {
    const isOurs = repositoryOf(textOf(container.image) ?? "") === repositoryOf(options.image)
    const isMember = isOurs || named.includes(textOf(container.name) ?? "")
    const member = isMember ? withParts(container, memberParts(options)) : container
    return asked.callsOut ? withParts(member, { env: PROXY_VARIABLES, volumeMounts: [] }) : member
  }
  return {
    containers: asked.containers.map(change),
    initContainers: asked.initContainers,
    warnings: unknown.map(name => `\`${credentials}\` names the container \`${name}\`, which the Pod does not have`),
  }
}

/** The image without tag and digest: a Pod that starts after an upgrade may still use an older version. */
function repositoryOf(image: string): string {
  return image.replace(/@.*$/, "").replace(/:[^:/]*$/, "")
}

const PROXY = `http://127.0.0.1:${OUTBOUND_PORT}`
/** Both spellings, since programs read one or the other. Calls within the Pod do not go through the mesh. */
const PROXY_VARIABLES: readonly Foreign[] = [
  { name: "http_proxy", value: PROXY },
  { name: "HTTP_PROXY", value: PROXY },
  { name: "no_proxy", value: "localhost,127.0.0.1,::1" },
  { name: "NO_PROXY", value: "localhost,127.0.0.1,::1" },
]

/** Keeps what the container's author set. */
function withParts(
  container: Foreign,
  { env, volumeMounts }: { readonly env: readonly Foreign[]; readonly volumeMounts: readonly Foreign[] },
): Foreign {
  return {
    ...container,
    env: [...listOf(container.env), ...missing(env, container.env, "name")],
    ...(volumeMounts.length === 0
      ? {}
      : {
          volumeMounts: [
            ...listOf(container.volumeMounts),
            ...missing(volumeMounts, container.volumeMounts, "mountPath"),
          ],
        }),
  }
}

function missing(wanted: readonly Foreign[], there: unknown, key: string): readonly Foreign[] {
  const taken = new Set(listOf(there).map(item => objectOf(item)[key]))
  return wanted.filter(item => !taken.has(item[key]))
}
