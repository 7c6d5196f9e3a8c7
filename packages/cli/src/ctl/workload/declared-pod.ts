// SPDX-License-Identifier: Apache-2.0
// The Pod that represents a workload without an orchestrator. No scheduler or kubelet may ever run it: it has a
// scheduling gate that is never removed, and names a scheduler that does not exist.

import { isIP } from "node:net"
import type { MeshNames } from "@merlon/policy/mesh"
import type { AnyObject } from "../catalog/resource.js"
import { fieldsOf, listOf, textOf, textsOf } from "../foreign.js"

export interface DeclaredPort {
  readonly port: number
  /** The protocol as in the name of a port: `http`, `grpc`, `tcp`. */
  readonly protocol: string | undefined
}

export interface Declaration {
  readonly name: string
  readonly namespace: string
  readonly labels: { readonly [name: string]: string }
  readonly ports: readonly DeclaredPort[]
  readonly serviceAccount: string
}

export interface DeclaredWorkload {
  readonly namespace: string
  readonly name: string
  readonly ready: boolean
  readonly address: string
  readonly ports: string
  readonly serviceAccount: string
  readonly labels: string
  readonly created: string
}

/** Long enough for a name, short enough for a container's. */
const MAX_CONTAINER_NAME = 63

export function declaredPod(
  { name, namespace, labels, ports, serviceAccount }: Declaration,
  names: MeshNames,
): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      // Its proxy runs outside the cluster. Injection would add a second one that never starts.
      labels: { ...labels, [names.injectLabel]: "false" },
      annotations: { [`${names.domain}/workload`]: "declared", [`${names.domain}/proxy`]: "xserver" },
    },
    spec: {
      serviceAccountName: serviceAccount,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      schedulerName: `${names.mesh}-declared`,
      schedulingGates: [{ name: `${names.domain}/declared` }],
      restartPolicy: "Always",
      // Nothing runs, but the namespace may enforce the strictest Pod security standard.
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name: containerName(name),
          image: "-",
          ports: ports.map(({ port, protocol }) => ({
            containerPort: port,
            ...(protocol === undefined ? {} : { name: portName(protocol, port, ports) }),
          })),
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  }
}

export function isDeclared({ metadata }: AnyObject, { domain }: MeshNames): boolean {
  return textsOf(metadata.annotations)[`${domain}/workload`] === "declared"
}

export function readDeclared({ metadata, spec, status }: AnyObject, { injectLabel }: MeshNames): DeclaredWorkload {
  const { [injectLabel]: _, ...labels } = textsOf(metadata.labels)
  const address = fieldsOf(status).podIP
  return {
    namespace: metadata.namespace ?? "default",
    name: metadata.name,
    ready: listOf(fieldsOf(status).conditions).some(item => {
      const { type, status: state } = fieldsOf(item)
      return type === "Ready" && state === "True"
    }),
    address: typeof address === "string" && isIP(address) !== 0 ? address : "",
    ports: portsOf(spec).join(","),
    serviceAccount: textOf(fieldsOf(spec).serviceAccountName) ?? "default",
    labels: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(","),
    created: textOf(metadata.creationTimestamp) ?? "",
  }
}

/** A difference that cannot be changed on an existing Pod. Undefined if there is none. */
export function frozenDifference(live: AnyObject, wanted: AnyObject): string | undefined {
  const account = (pod: AnyObject): unknown => fieldsOf(pod.spec).serviceAccountName
  if (account(live) !== account(wanted)) return "another service account"
  return portsOf(live.spec).join() === portsOf(wanted.spec).join() ? undefined : "other ports"
}

function portsOf(spec: unknown): readonly string[] {
  return listOf(fieldsOf(spec).containers).flatMap(container =>
    listOf(fieldsOf(container).ports).map(item => {
      const { containerPort, name } = fieldsOf(item)
      const spoken = textOf(name)?.replace(/-\d+$/, "")
      return spoken === undefined ? String(containerPort) : `${String(containerPort)}/${spoken}`
    }),
  )
}

/** Names are unique within a Pod: several ports with one protocol have their number in the name. */
function portName(protocol: string, port: number, ports: readonly DeclaredPort[]): string {
  return ports.filter(other => other.protocol === protocol).length === 1 ? protocol : `${protocol}-${port}`
}

/** Converts the name of a Pod, which may contain dots and be longer. */
function containerName(name: string): string {
  return name.replaceAll(".", "-").slice(0, MAX_CONTAINER_NAME).replace(/-+$/, "")
}
